"""How the bags of an import differ from those before: where and when, what is in them, what the model makes of them.

An instance is unlike anything before where it is farther from the nearest of the centres of the instances before than
99 % of these are. The centres are those of k-means on one half of a sample of them, standardised; the other half says
how far 99 % are, so that 1 % is expected of instances of the same kind.
"""

from dataclasses import dataclass

import numpy as np

from bagwise.kernels import Array
from bagwise.kernels.arithmetic.clustering import k_means
from bagwise.partitions import partitions_of
from bagwise.project.project import Project
from bagwise.project.storage.bag_files import NO_SITE

SAMPLED_INSTANCES, SAMPLED_BAGS = 10_000, 2_000
QUANTILE = 0.99
REMARKABLE = 0.05
"""The share of unlike instances from which answers about them are recommended."""
INSTANCES_PER_CENTRE, MOST_CENTRES, ROUNDS = 20, 100, 20
SEED = 0
MOST_LISTED = 5


@dataclass(frozen=True)
class ClassChange:
    """Mean P(class in bag) by the model, over a sample of the bags before and of the new ones."""

    name: str
    before: float
    new: float


@dataclass(frozen=True)
class ChangedData:
    """How new bags differ from those before.

    Parameters
    ----------
    sentences : list of str
        What is new, for people, with a recommendation where it is very different.
    unlike : float or None
        Share of the new instances that are unlike anything before, where 0.01 is expected; None where it was not
        measured.
    classes : list of ClassChange
        Empty where no model has learned anything yet.

    Examples
    --------
    >>> ChangedData(["New: 1 bag."], 0.31, []).unlike
    0.31
    """

    sentences: list[str]
    unlike: float | None
    classes: list[ClassChange]


def changed_data(project: Project, first: int) -> ChangedData:
    """Return how the bags of a project from position `first` on differ from those before it.

    Parameters
    ----------
    project : Project
        An open project.
    first : int
        The number of bags before.

    Returns
    -------
    ChangedData

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bagwise.formats import Source
    >>> rng = np.random.default_rng(0)
    >>> bags = [rng.normal(size=(20, 2)) for _ in range(40)] + [rng.normal(9, 1, (20, 2))]
    >>> source = Source.of_bags(Path("made.npz"), bags, [f"bag {i}" for i in range(41)])
    >>> with tempfile.TemporaryDirectory() as place, Project.create(f"{place}/p", source, classes=["wren"]) as project:
    ...     changed_data(project, 40).unlike
    1.0
    """
    sentences = [_what_is_new(project, first)]
    if partitions_of(project.bags) is not None:
        sentences.append(
            "The instances are in partitions: whether the new ones are unlike those before is not measured."
        )
        return ChangedData(sentences, None, [])
    unlike, bags = _unlike(project, first)
    share = float(unlike.mean())
    sentences.append(_judged(project, share, unlike, bags))
    return ChangedData(sentences, share, _classes(project, first))


def _what_is_new(project: Project, first: int) -> str:
    files, count = project.contents.bag_files, len(project.contents.ids) - first
    sites = set(files.site_of[first:].tolist()) - set(files.site_of[:first].tolist()) - {NO_SITE}
    days = files.begins[first:][~np.isnat(files.begins[first:])].astype("datetime64[D]")
    parts = [f"New: {count} bag{'s' * (count != 1)}"]
    if len(days):
        parts.append(f"recorded from {days.min()} to {days.max()}" if days.min() < days.max() else f"of {days.min()}")
    if sites:
        names = [files.sites[site] for site in sorted(sites)]
        more = ", ..." if len(names) > MOST_LISTED else ""
        parts.append(f"at {len(names)} new site{'s' * (len(names) != 1)} ({', '.join(names[:MOST_LISTED])}{more})")
    return f"{', '.join(parts)}."


def _unlike(project: Project, first: int) -> tuple[Array, Array]:
    """Whether each of a sample of the new instances is unlike anything before, and the bag of each."""
    rng, offsets, x = np.random.default_rng(SEED), project.contents.offsets, project.bags.instances
    old_rows, new_rows = (
        np.sort(rng.choice(np.arange(start, end), min(SAMPLED_INSTANCES, end - start), replace=False))
        for start, end in ((0, offsets[first]), (offsets[first], offsets[-1]))
    )
    old, new = (np.asarray(x[rows], np.float64) for rows in (old_rows, new_rows))
    middle, scale = old.mean(axis=0), old.std(axis=0)
    scale[scale == 0] = 1.0
    old, new = ((some - middle) / scale for some in (old, new))
    half = rng.permutation(len(old))
    learned, held_out = (old[half[place::2]] if len(old) > 1 else old for place in (0, 1))
    count = min(max(1, len(learned) // INSTANCES_PER_CENTRE), MOST_CENTRES, len(np.unique(learned, axis=0)))
    centres = k_means(learned, count, ROUNDS, SEED)
    limit = np.quantile(_distances(held_out, centres), QUANTILE)
    bags = np.searchsorted(offsets, new_rows, side="right") - 1
    return np.asarray(_distances(new, centres) > limit), bags


def _distances(x: Array, centres: Array) -> Array:
    """The squared distance of every row to the nearest centre."""
    squared = (x**2).sum(axis=1)[:, None] - 2 * x @ centres.T + (centres**2).sum(axis=1)
    return np.asarray(squared.min(axis=1))


def _judged(project: Project, share: float, unlike: Array, bags: Array) -> str:
    found = f"{share:.0%} of the new instances are unlike anything before ({1 - QUANTILE:.0%} expected)"
    if share < REMARKABLE:
        return f"{found}: the model may go on as it is."
    files = project.contents.bag_files
    sites = files.site_of[bags]
    known = [site for site in np.unique(sites).tolist() if site != NO_SITE]
    if not known:
        return f"{found}: answer some questions about them before you rely on predictions."
    strangest = max(known, key=lambda site: float(unlike[sites == site].mean()))
    name = files.sites[strangest]
    return f'{found}: answer some questions about site {name} (sites = ["{name}"] under [asking] in bagwise.toml).'


def _classes(project: Project, first: int) -> list[ClassChange]:
    if np.isnan(project.labels().values).all():
        return []
    rng, kept = np.random.default_rng(SEED), project.contents.kept_bags
    samples = kept[kept < first], kept[kept >= first]
    if not all(map(len, samples)):
        return []
    model, active = project.model().classifier, project.contents.class_list.active.tolist()
    before, new = (
        model.predict_proba(
            project.bags.select(np.sort(rng.choice(some, min(SAMPLED_BAGS, len(some)), replace=False)))
        ).mean(axis=0)
        for some in samples
    )
    return [ClassChange(project.classes[c], float(before[c]), float(new[c])) for c in active]
