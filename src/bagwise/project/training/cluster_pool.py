"""A project whose bags are shared out over a cluster."""

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.learning.pool import Pool
from bagwise.partitions import PartitionedBags


def pool_on(cluster: str, bags: Bags) -> Pool:
    """The bags of a project as a pool on the cluster at this address."""
    require_partitions(bags)
    assert isinstance(bags, PartitionedBags)
    from bagwise.cluster import RayPool

    return RayPool.open(bags.parts, cluster)


def require_partitions(bags: Bags) -> None:
    """Shards read parts."""
    if not isinstance(bags, PartitionedBags):
        raise BagwiseError(
            "The instances of this project lie in one file: run `bagwise import DIR --partition N` first."
        )
