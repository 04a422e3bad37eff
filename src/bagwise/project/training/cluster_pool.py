"""The pool of a project on a cluster."""

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.learning.pool import Pool
from bagwise.partitions import Partitions, partitions_of


def pool_on(cluster: str, bags: Bags) -> Pool:
    """Return a pool over the bags of a project on the cluster at this address."""
    partitions = require_partitions(bags)
    from bagwise.cluster import RayPool

    return RayPool.open(partitions, cluster)


def require_partitions(bags: Bags) -> Partitions:
    """Return the partitions that bags are stored in; a cluster reads nothing else."""
    if bags.scores is not None:
        raise BagwiseError("A cluster does not support the scores of a classifier: open the project without --cluster.")
    partitions = partitions_of(bags)
    if partitions is None:
        raise BagwiseError(
            "The instances of this project are stored in one file, but a cluster needs partitions: run "
            "`bagwise import DIR --partition N` first."
        )
    return partitions
