"""The same learner over a pool whose bags lie on a Ray cluster."""

try:
    import ray  # noqa: F401
except ImportError as error:
    from bagwise.core.errors import BagwiseError

    raise BagwiseError("A cluster needs Ray: pip install 'bagwise[cluster]'.") from error

from bagwise.cluster.connection import connect
from bagwise.cluster.ray_pool import RayPool

__all__ = ["RayPool", "connect"]
