"""Folders of raw files at the command line: segmented with a progress bar, skipped files are listed at the end."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.markup import escape

from bagwise import formats, ingest
from bagwise.cli._app import errors, printable, progress_bar, say
from bagwise.cli._projects import import_bar, read_instances, stored_as
from bagwise.core.errors import BagwiseError, FileError
from bagwise.core.wording import counted
from bagwise.formats import LabelTable, ScoreTable, Source
from bagwise.ingest import ExistingBags, Listing, Recipe, SegmentedFolder
from bagwise.ingest.clips import DEFAULT_SECONDS, LONG, Clipping
from bagwise.ingest.sound.decoding import sound_info
from bagwise.model import MIMLClassifier
from bagwise.project import Asking, Display, Learning, Media, Project
from bagwise.project.imports import segmentation
from bagwise.project.imports.locations import Locations
from bagwise.project.storage.bag_files import NO_FILE

MOST_LISTED = 10


def with_weights(embed: str, weights: Path | None) -> str:
    """Return what is typed after `--embed` with the file that is given with `--weights`."""
    if weights is None:
        return embed
    if not embed:
        raise BagwiseError("--weights is the file of a model: say which kind it is with --embed.")
    return f"{embed}{',' if ':' in embed else ':'}weights={weights}"


@dataclass(frozen=True)
class RawFolder:
    """A folder of raw files and the options for it: `--medium`, `--cut` (the segmenter), `--embed`, `--clip`."""

    folder: Path
    medium: str | None = None
    segmenter: str | None = None
    embed: str = ""
    clip: str | None = None
    overlap: str = "0"

    def listing(self, medium: str | None = None) -> Listing:
        """List the files; `medium` is used where the option is not given."""
        return ingest.list_files(self.folder, medium if self.medium is None else self.medium)

    def segmenter_for(self, listing: Listing) -> str | None:
        """Return the segmenter that is given, or, where none is and no embedder, the one that suits the files."""
        if self.segmenter is not None or self.embed:
            return self.segmenter
        found = ingest.segmenters.recommend(listing.medium, list(listing.files.values()))
        if found.reason:
            say(found.reason)
        return found.segmenter

    def clipping(self, listing: Listing) -> Clipping | None:
        """Return how recordings are cut into clips: as the options say, or by default if one is long."""
        if self.clip is not None:
            return Clipping.parse(self.clip, self.overlap)
        if ingest.media.renderer_of(listing.medium) != "sound":
            return None
        longest = max(map(_seconds, listing.files.values()), default=0.0)
        if longest <= LONG:
            return None
        clipping = Clipping.parse(f"{DEFAULT_SECONDS:g}s", self.overlap)
        what = f"recordings are cut into clips of {DEFAULT_SECONDS:g} s, each a bag of its own"
        say(f"The longest recording has {longest / 60:.1f} min, so {what} (others: --clip 30s; none: --clip none).")
        return clipping


def is_raw(source: Path | None) -> bool:
    """Return whether it is a folder of files to segment, and not one that holds embeddings."""
    return source is not None and source.is_dir() and formats.folder_format(source) is None


def validate_no_table_options(*given: object) -> None:
    """Raise if options for a table are given with a folder of raw files."""
    if any(one is not None for one in given):
        raise BagwiseError("--bag, --media and --places are for a table of instances; a folder has its own.")


def validate_no_folder_options(medium: str | None, segmenter: str | None, embed: str, clip: str | None = None) -> None:
    """Raise if options for a folder of raw files are given with a table."""
    if any(one is not None for one in (medium, segmenter, clip)) or embed:
        what = "--medium, --cut, --clip and --embed are for a folder of raw files"
        raise BagwiseError(f"{what}; a table is segmented already.")


@contextmanager
def create_from_folder(
    folder: Path,
    raw: RawFolder,
    labels: LabelTable | None,
    classes: Sequence[str],
    learning: Learning,
    asking: Asking,
    database: str,
    float16: bool = False,
) -> Iterator[Project]:
    """Create a project from the files of a folder; if it exists already, add the new files to it."""
    if segmentation.recipe_of(folder) is not None:
        say(f"{escape(str(folder))} exists already: adding the new files.")
        with Project.open(folder) as project:
            add_from_folder(project, raw, labels, classes)
            yield project
        return
    _validate_before_work(folder, labels, classes)
    listing = raw.listing()
    recipe = Recipe.of(listing.medium, raw.segmenter_for(listing), raw.embed, raw.clipping(listing))
    _say_licence(raw.embed)
    beside = folder.resolve().with_name(f".{folder.resolve().name}.cutting")
    with ingest.resumable_cache(beside, recipe, raw.folder) as (cache, resumed):
        segmented = _segment(listing, resumed, cache, ExistingBags())
        display = Display(bag=ingest.media.available()[listing.medium].BAG)
        source, media = stored_as(segmented.source, float16), Media.of(segmented)
        with import_bar("Importing", source, media) as progress:
            project = Project.create(
                folder, source, labels, classes, learning, asking, database, progress, display, media
            )
    with project:
        yield project


def add_from_folder(project: Project, raw: RawFolder, labels: LabelTable | None, classes: Sequence[str]) -> None:
    """Add the files of a folder that are not in the project yet, segmented as the rest was."""
    recipe = segmentation.recipe_of(project.folder)
    if recipe is None:
        raise BagwiseError(f"{project.folder} was made from a table: give --from a table of instances as well.")
    listing = raw.listing(recipe.medium)
    segmenter = recipe.segmenter if raw.segmenter is None else raw.segmenter
    if (listing.medium, segmenter) != (recipe.medium, recipe.segmenter):
        what = f"{project.folder} has {recipe.medium} segmented by {recipe.segmenter}"
        raise BagwiseError(f"{what}: all files of a project must be segmented alike.")
    existing = ExistingBags(
        _names_of_files(project),
        segmentation.fingerprints(project.folder),
        project.settings.data.features,
    )
    place = segmentation.cache_folder(project.folder)
    recipe = recipe.with_embedder(raw.embed)
    _say_licence(raw.embed)
    with ingest.resumable_cache(place, recipe, raw.folder) as (cache, resumed):
        segmented = _segment(listing, resumed, cache, existing)
        if not segmented.entries:
            segmentation.list_skipped(project.folder, segmented.skipped)
            say(f"Nothing new in {escape(str(raw.folder))}.")
        source, media = (segmented.source, Media.of(segmented)) if segmented.entries else (None, None)
        if source is not None or labels is not None or classes:
            with import_bar("Importing", source, media) as progress:
                project.import_(source, labels, classes, progress, media)


@contextmanager
def read_or_segment(
    source: Path, bag: str | None, model: MIMLClassifier, embed: str
) -> Iterator[tuple[Source, ScoreTable | None, Locations]]:
    """Yield the instances of a table, or of raw files segmented as those that the model was trained on.

    The scores are those of the embedder, where it has any; the locations say where the bags and instances are.
    """
    if not is_raw(source):
        validate_no_folder_options(None, None, embed)
        read = read_instances(source, bag)
        yield read, None, Locations.of_table(read)
        return
    tree = getattr(model, "recipe_", None)
    if tree is None:
        raise FileError(source, "is a folder, and the model was trained on a table: give a table of instances.")
    recipe = Recipe.from_tree(tree).with_embedder(embed)
    _say_licence(embed)
    listing = ingest.list_files(source, recipe.medium)
    with (
        tempfile.TemporaryDirectory(prefix="bagwise-") as place,
        ingest.resumable_cache(Path(place) / "cache", recipe, source) as (cache, resumed),
    ):
        segmented = _segment(listing, resumed, cache, ExistingBags())
        scores = segmentation.write_scores(Path(place) / "scores", segmented)
        found = None if scores is None else segmentation.read_scores(scores)
        yield segmented.source, found, Locations.of_segments(segmented)


def _names_of_files(project: Project) -> frozenset[str]:
    """The files that are in the project; a bag of an older Bagwise is called as its file."""
    files = project.contents.bag_files
    return frozenset([*files.names, *project.contents.ids[files.file_of == NO_FILE].tolist()])


def _seconds(path: Path) -> float:
    """The length of a recording; 0 where it cannot be read."""
    try:
        return sound_info(path).seconds
    except BagwiseError:
        return 0.0


def _validate_before_work(folder: Path, labels: LabelTable | None, classes: Sequence[str]) -> None:
    """Raise at once for what would otherwise fail after all files are segmented."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BagwiseError(f"{folder} exists already: choose another folder.")
    if labels is None and not classes:
        raise BagwiseError("The project has no class: give --classes FILE with one name per line, or --labels.")


def _say_licence(embed: str) -> None:
    licence = ingest.embedders.licence_of(embed) if embed else ""
    if licence:
        errors.print(
            f"Licence of the model of --embed {escape(embed.partition(':')[0])}: {escape(licence)}.", soft_wrap=True
        )


def _segment(listing: Listing, recipe: Recipe, cache: ingest.Cache, existing: ExistingBags) -> SegmentedFolder:
    with progress_bar(f"Segmenting {escape(listing.folder.name)}", len(listing.files), "files") as progress:
        segmented = ingest.segment_folder(listing, recipe, cache, existing, progress)
    _list_skipped(segmented.skipped)
    for name, remark in list(segmented.remarks.items())[:MOST_LISTED]:
        say(f"{printable(name)}: {printable(remark)}")
    for bag, name in list(segmented.renamed.items())[:MOST_LISTED]:
        say(f"The file of {printable(bag)} was renamed to {printable(name)}; the bag keeps its name.")
    if len(segmented.renamed) > MOST_LISTED:
        say(f"{len(segmented.renamed)} files were renamed.")
    if listing.others:
        say(f"Ignored: {counted(listing.others, 'other file')}, not {listing.medium}.")
    return segmented


def _list_skipped(skipped: Mapping[str, str]) -> None:
    if not skipped:
        return
    errors.print(f"{counted(len(skipped), 'file')} skipped:", highlight=False)
    for name, why in list(skipped.items())[:MOST_LISTED]:
        errors.print(f"  {printable(name)}: {printable(why)}", soft_wrap=True, highlight=False)
    if len(skipped) > MOST_LISTED:
        more = len(skipped) - MOST_LISTED
        errors.print(f"  and {more} more, in cutting/skipped.csv of the project.", highlight=False)
