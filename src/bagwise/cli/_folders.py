"""Folders of raw files at the command line: segmented with a progress bar, skipped files listed at the end."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.markup import escape

from bagwise import formats, ingest
from bagwise.cli._app import errors, printable, progress_bar, say
from bagwise.cli._projects import import_bar, read_instances
from bagwise.core.errors import BagwiseError, FileError
from bagwise.formats import LabelTable, Source
from bagwise.ingest import Before, Listing, Recipe, SegmentedFolder
from bagwise.model import MIMLClassifier
from bagwise.project import Asking, Display, Learning, Media, Project
from bagwise.project.imports import segmentation as kept

MOST_LISTED = 10
CALLED = {"picture": "picture", "sound": "recording", "text": "document"}


@dataclass(frozen=True)
class Raw:
    """A folder of raw files and the options for its segmentation."""

    folder: Path
    medium: str | None = None
    way: str | None = None
    embed: str = ""

    def listing(self, medium: str | None = None) -> Listing:
        """Return its files."""
        wanted = ingest.medium_named(self.medium) if self.medium is not None else medium
        return ingest.list_files(self.folder, wanted)


def is_raw(source: Path | None) -> bool:
    """Return whether it is a folder of raw files, not one that holds embeddings."""
    return source is not None and source.is_dir() and formats.folder_format(source) is None


def validate_no_table_options(*given: object) -> None:
    """Raise an error where options of a table are given for a folder of raw files."""
    if any(one is not None for one in given):
        raise BagwiseError("--bag, --media and --places are for a table of instances; a folder has its own.")


def validate_no_folder_options(medium: str | None, way: str | None, embed: str) -> None:
    """Raise an error where options of a folder of raw files are given for a table."""
    if medium is not None or way is not None or embed:
        raise BagwiseError("--medium, --cut and --embed are for a folder of raw files; a table is segmented already.")


@contextmanager
def made_from_folder(
    folder: Path,
    raw: Raw,
    labels: LabelTable | None,
    classes: Sequence[str],
    learning: Learning,
    asking: Asking,
    database: str,
) -> Iterator[Project]:
    """Create a project from a folder of raw files; where the project exists, add the new files to it."""
    if kept.recipe_of(folder) is not None:
        say(f"{escape(str(folder))} exists already: adding the new files.")
        with Project.open(folder) as project:
            add_from_folder(project, raw, labels, classes)
            yield project
        return
    _validate_before_work(folder, labels, classes)
    listing = raw.listing()
    recipe = Recipe.of(listing.medium, ingest.segmenter_for(listing.medium, raw.way), raw.embed)
    beside = folder.resolve().with_name(f".{folder.resolve().name}.cutting")
    with ingest.unfinished(beside, recipe, raw.folder) as (cache, found):
        cut = _cut(listing, found, cache, Before())
        source, media, display = cut.source, Media.of(cut), Display(bag=CALLED[listing.medium])
        with import_bar("Importing", source, media) as progress:
            project = Project.create(
                folder, source, labels, classes, learning, asking, database, progress, display, media
            )
    with project:
        yield project


def add_from_folder(project: Project, raw: Raw, labels: LabelTable | None, classes: Sequence[str]) -> None:
    """Add the files of a folder that the project does not have yet, segmented as the others were."""
    recipe = kept.recipe_of(project.folder)
    if recipe is None:
        raise BagwiseError(f"{project.folder} was made from a table: give --from a table of instances as well.")
    listing = raw.listing(recipe.medium)
    way = recipe.way if raw.way is None else raw.way
    if (listing.medium, way) != (recipe.medium, recipe.way):
        raise BagwiseError(f"{project.folder} has {recipe.medium} segmented by {recipe.way}: use the same.")
    before = Before(
        frozenset(project.contents.ids.tolist()), kept.seen_files(project.folder), project.settings.data.features
    )
    place = kept.unfinished(project.folder)
    with ingest.unfinished(place, recipe.with_embedding(raw.embed), raw.folder) as (cache, found):
        cut = _cut(listing, found, cache, before)
        if not cut.entries:
            kept.list_skipped(project.folder, cut.skipped)
            say(f"Nothing new in {escape(str(raw.folder))}.")
        source, media = (cut.source, Media.of(cut)) if cut.entries else (None, None)
        if source is not None or labels is not None or classes:
            with import_bar("Importing", source, media) as progress:
                project.import_(source, labels, classes, progress, media)


@contextmanager
def read_instances_or_cut(source: Path, bag: str | None, model: MIMLClassifier, embed: str) -> Iterator[Source]:
    """Yield the instances of a table, or of raw files segmented as those that the model learned from."""
    if not is_raw(source):
        validate_no_folder_options(None, None, embed)
        yield read_instances(source, bag)
        return
    tree = getattr(model, "recipe_", None)
    if tree is None:
        raise FileError(source, "is a folder, and the model learned from a table: give a table of instances.")
    recipe = Recipe.from_tree(tree).with_embedding(embed)
    listing = ingest.list_files(source, recipe.medium)
    with (
        tempfile.TemporaryDirectory(prefix="bagwise-") as place,
        ingest.unfinished(Path(place) / "cutting", recipe, source) as (cache, found),
    ):
        yield _cut(listing, found, cache, Before()).source


def _validate_before_work(folder: Path, labels: LabelTable | None, classes: Sequence[str]) -> None:
    """Raise an error for what would fail only after the segmentation, which may take an hour."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BagwiseError(f"{folder} exists already: choose another folder.")
    if labels is None and not classes:
        raise BagwiseError("The project has no class: give --classes FILE with one name per line, or --labels.")


def _cut(listing: Listing, recipe: Recipe, cache: ingest.Cache, before: Before) -> SegmentedFolder:
    with progress_bar(f"Segmenting {escape(listing.folder.name)}", len(listing.files), "files") as progress:
        cut = ingest.segment_folder(listing, recipe, cache, before, progress)
    _list_skipped(cut.skipped)
    for bag, name in list(cut.renamed.items())[:MOST_LISTED]:
        say(f"The file of {printable(bag)} was renamed to {printable(name)}; the bag keeps its name.")
    if len(cut.renamed) > MOST_LISTED:
        say(f"{len(cut.renamed)} files were renamed.")
    if listing.others:
        say(f"{listing.others} other files, which are not {listing.medium}, were ignored.")
    return cut


def _list_skipped(skipped: Mapping[str, str]) -> None:
    if not skipped:
        return
    errors.print(f"{len(skipped)} files were skipped:", highlight=False)
    for name, why in list(skipped.items())[:MOST_LISTED]:
        errors.print(f"  {printable(name)}: {printable(why)}", soft_wrap=True, highlight=False)
    if len(skipped) > MOST_LISTED:
        errors.print(
            f"  and {len(skipped) - MOST_LISTED} more, in cutting/skipped.csv of the project.", highlight=False
        )
