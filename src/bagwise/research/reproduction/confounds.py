"""What else than the selection could make the differences: steps per label, warm starts, and the budget.

All of it is in the rows of the experiments on selection: at some points every learner's labels were also fitted from
scratch, which takes away how often each label was stepped on and where the fit started.
"""

from collections.abc import Sequence

import polars as pl

from bagwise.research.experiments.statistics import Difference
from bagwise.research.reproduction.claims import (
    BAG_THEN_CLASS,
    PRIMARY,
    RANDOM,
    RANDOM_BAGS,
    UNCERTAINTY,
    WHOLE_BAGS,
    differences_of,
)

AGAINST = (WHOLE_BAGS, RANDOM_BAGS, BAG_THEN_CLASS, RANDOM)
BUDGETS = (0.1, 0.25, 0.5, 1.0)


def with_scratch(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows at which the same labels were also fitted from scratch, which are between start and end."""
    return rows.filter(pl.col("scratch_accuracy").is_not_null())


def steps_per_label(rows: pl.DataFrame) -> list[tuple[Difference, Difference]]:
    """Return what uncertainty pairs gain over each other arm, as learned and from scratch on the same labels.

    A bag answered at once is one step of bag-SGD where its pairs are as many steps as it has classes; a fit from
    scratch sees every label equally often.
    """
    pairs = [(UNCERTAINTY, other) for other in AGAINST]
    at = with_scratch(rows)
    return list(zip(differences_of(at, PRIMARY, pairs), differences_of(at, "scratch_accuracy", pairs), strict=True))


def warm_against_scratch(rows: pl.DataFrame) -> list[Difference]:
    """Return, for every arm, the accuracy of its own model minus that of a fit from scratch to the same labels."""
    at = with_scratch(rows)
    scratch = at.with_columns(
        (pl.col("strategy") + ", scratch").alias("strategy"), pl.col("scratch_accuracy").alias(PRIMARY)
    )
    arms = at["strategy"].unique(maintain_order=True)
    return differences_of(pl.concat([at, scratch]), PRIMARY, [(arm, f"{arm}, scratch") for arm in arms])


def budgets(rows: pl.DataFrame, pairs: Sequence[tuple[str, str]]) -> dict[float, list[Difference]]:
    """Return the comparisons with the area over the first tenth, quarter, half and all of the questions."""
    last = pl.col("asked").max().over("dataset")
    return {share: differences_of(rows.filter(pl.col("asked") <= share * last), PRIMARY, pairs) for share in BUDGETS}
