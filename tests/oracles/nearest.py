"""The nearest bags, slow and obvious: every distance of every pair, then a sort."""

import numpy as np


def nearest(bags, searched, cosine=False):
    """Bags, the nearest first, as (bag, distance, instance that is near), and to which of those searched for.

    The distance is the mean over all that is searched for; the instance, the nearest to the rarest. Ties by position.
    """
    tables = [np.array([[_distance(row, one, cosine) for one in searched] for row in rows]) for rows in bags]
    rarest = int(np.argmax(np.sum([table.min(axis=0) for table in tables], axis=0)))
    found = [(bag, table.min(axis=0).mean(), int(table[:, rarest].argmin())) for bag, table in enumerate(tables)]
    return [found[place] for place in np.argsort([one[1] for one in found], kind="stable")], rarest


def _distance(row, one, cosine):
    if not cosine:
        return np.sqrt(np.sum((row - one) ** 2))
    return 1 - row @ one / ((np.linalg.norm(row) or 1.0) * (np.linalg.norm(one) or 1.0))
