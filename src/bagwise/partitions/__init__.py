"""Instances in partitions: a folder on shared storage whose partitions are read one by one, where they are needed.

    parts.json                  features, their type, and every partition with its bags, instances and checksum
    part-00000.parquet          one row per instance: `bag`, its id, and `instance`, a list of fixed length
    part-00001.npy              or an array that is memory-mapped, with the next file beside it
    part-00001.bags.parquet     the `id` and the `size` of every bag in it

The rows of a bag are consecutive, in one partition. A partition counts when `parts.json` names it; from then on it
never changes.
"""

from bagwise.partitions.files import KINDS, Partition, write_partition
from bagwise.partitions.folder import Partitions, partitions_of
from bagwise.partitions.store import PartitionStore

__all__ = ["KINDS", "Partition", "PartitionStore", "Partitions", "partitions_of", "write_partition"]
