"""Instances in parts: a folder on shared storage whose parts are read one by one, where they are needed.

    parts.json                  features, their type, and every part with its bags, instances and checksum
    part-00000.parquet          one row per instance: `bag`, its id, and `instance`, a list of fixed length
    part-00001.npy              or an array that is mapped, not read, beside
    part-00001.bags.parquet     the `id` and the `size` of every bag in it

The rows of a bag lie together, in one part. A part counts when `parts.json` names it; from then on it never changes.
"""

from bagwise.partitions.bags import PartitionedBags
from bagwise.partitions.files import KINDS, Partition, write_partition
from bagwise.partitions.folder import Partitions

__all__ = ["KINDS", "Partition", "PartitionedBags", "Partitions", "write_partition"]
