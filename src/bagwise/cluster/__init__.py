"""A pool on a Ray cluster, and tasks on it."""

try:
    import ray  # noqa: F401
except ImportError:
    from bagwise.core.errors import BagwiseError

    raise BagwiseError("A cluster needs Ray: pip install 'bagwise[cluster]'.") from None

from bagwise.cluster.connection import connect
from bagwise.cluster.ray_pool import RayPool

__all__ = ["RayPool", "connect"]
