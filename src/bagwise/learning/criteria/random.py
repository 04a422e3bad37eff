"""Random: every pair is as good as any other. The baseline, and how uniform audits are drawn.

    score[b, c] = u(seed, bag, class),   uniform in [0, 1)

The numbers are hashed from the pair, so the order of questions does not depend on chunks, shards, threads or the order
of the bags.
"""

from bagwise.kernels import Array, hashed_grid
from bagwise.model.scored_pool import ScoredPool


def random(pool: ScoredPool) -> Array:
    """Return the score of every pair.

    Parameters
    ----------
    pool : ScoredPool
        The bags under the current model, with their labels.

    Returns
    -------
    ndarray, shape (B, C)
        Larger = ask sooner.

    Examples
    --------
    >>> random(ScoredPool([[0.5, 1.0]], seed=0)).shape
    (1, 2)
    """
    return hashed_grid(pool.seed, pool.keys, pool.shape[1])
