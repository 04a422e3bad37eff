"""A project whose bags are shared out over a cluster."""

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.learning.pool import Holding
from bagwise.partitions import PartedBags


def pool_on(cluster: str, bags: Bags) -> Holding:
    """The bags of a project as a pool on the cluster at this address."""
    refuse_unparted(bags)
    assert isinstance(bags, PartedBags)
    from bagwise.cluster import ClusterPool

    return ClusterPool.open(bags.parts, cluster)


def refuse_unparted(bags: Bags) -> None:
    """Shards read parts."""
    if not isinstance(bags, PartedBags):
        raise BagwiseError(
            "The instances of this project lie in one file: run `bagwise import DIR --partition N` first."
        )
