"""Project: a labelling project on disk. Ask, answer, undo, correct; what was acknowledged is durable.

Several processes may have one project open: questions are leased through the database, and every process learns the
same events in the same order.
"""

import shutil
import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.data.instance_labels import InstanceLabel
from bagwise.formats import LabelTable, Matching, PlacedLabel, PredictionTable, ScoreTable, Source
from bagwise.kernels import Array
from bagwise.learning.evidence import strongest_instances, strongest_of
from bagwise.learning.learner import ActiveLearner, Snapshot
from bagwise.learning.pool import top_k_on
from bagwise.learning.questions import Instances, Pair
from bagwise.model import MIMLClassifier, Trial, solvers
from bagwise.model.features import fit_transformer
from bagwise.project.access.names import validate_name
from bagwise.project.answers import replay
from bagwise.project.answers.annotations import Annotation, Annotations
from bagwise.project.answers.annotator_noise import AnnotatorRates, Doubt, doubts, examine
from bagwise.project.answers.answers import Answers, Submission, raised
from bagwise.project.answers.corrections import Corrections, Replaced, replaced
from bagwise.project.answers.current_labels import disputed_in_bag, instance_labels_of, known_of, labels_in_bag
from bagwise.project.answers.events import ANSWER_OF, Event, Pointing
from bagwise.project.answers.notes import Notes
from bagwise.project.answers.votes import Votes
from bagwise.project.classes.class_changes import ClassChanges
from bagwise.project.imports import media as kept
from bagwise.project.imports import segmentation
from bagwise.project.imports.details import Details, DetailsMatching, import_details
from bagwise.project.imports.importing import Keep, Progress, exclusive, import_into, quiet
from bagwise.project.imports.locations import Locations
from bagwise.project.imports.regions import Placement
from bagwise.project.imports.removal import set_removed
from bagwise.project.imports.scores import import_scores
from bagwise.project.instances import partitions
from bagwise.project.instances.partitioning import partition
from bagwise.project.instances.worker_pool import Each, in_processes
from bagwise.project.queue.leases import Leases
from bagwise.project.queue.ranking import Ranking, Wait, wait_for
from bagwise.project.queue.requests import LeaseRequest
from bagwise.project.search import plane
from bagwise.project.search.files import instances_of_file
from bagwise.project.search.nearest import Similar, nearest
from bagwise.project.settings import ESTIMATE, Asking, Data, Display, Learning, Settings
from bagwise.project.state import MakeTrainer, ProjectState
from bagwise.project.storage import queries
from bagwise.project.storage.backup import back_up
from bagwise.project.storage.bag_files import BagSource
from bagwise.project.storage.bag_filter import EVERYTHING, BagFilter
from bagwise.project.storage.creation import DATABASE, database_of, fill, upgrade_if_older
from bagwise.project.storage.database import Database
from bagwise.project.storage.queries import Contents
from bagwise.project.storage.stored_leases import Lease
from bagwise.project.training.cluster_pool import require_partitions
from bagwise.project.training.fitting import fit, named, validate_known
from bagwise.project.training.model_file import (
    ModelFile,
    ModelInfo,
    ProjectModel,
    info_of,
    online_info,
    provenance_of,
    with_provenance,
)
from bagwise.project.training.thresholds import learn_thresholds
from bagwise.project.training.trainer import Trainer
from bagwise.project.training.trainer_process import TrainerProcess


@dataclass(frozen=True)
class Opinion:
    """What a classifier thinks of a bag and a class.

    Parameters
    ----------
    source : str
        The name of the classifier.
    probability : float
        Its score.

    Examples
    --------
    >>> Opinion("BirdNET", 0.93).source
    'BirdNET'
    """

    source: str
    probability: float


class Project:
    """An open labelling project: a folder with bags, classes, answers and the model trained on them.

    Make one with `create` or `open`; close it, or use it in a `with` statement. Its methods may be called from several
    threads, and several processes may have one project open. Bags and classes are named by their positions, from 0.

    Parameters
    ----------
    folder : Path
        The folder of the project.
    settings : Settings
        What `bagwise.toml` in it has.
    database : Database
        Where the events are stored.
    make_trainer : callable
        Returns the trainer: in this process, or in one of its own.

    Attributes
    ----------
    placement : Placement
        What became of labels that say where, in the last import by this object.
    class_changes : ClassChanges
        Adds, renames, describes, merges and retires classes.
    notes : Notes
        What people noted about bags and questions.

    Examples
    --------
    >>> import tempfile
    >>> place = tempfile.TemporaryDirectory()
    >>> source = Source.of_bags(Path("made.npz"), [np.array([[x, 1.0]]) for x in (-2.0, 2.0, 0.1)], ["a", "b", "c"])
    >>> with Project.create(f"{place.name}/project", source, classes=["low", "high"]) as project:
    ...     (lease,) = project.ask("ann")
    ...     event = project.answer(lease.key, "ann", "present", seconds=2.0)
    ...     project.counts_as(event.pair)
    'present'
    >>> place.cleanup()
    """

    def __init__(
        self, folder: Path, settings: Settings, database: Database, make_trainer: MakeTrainer = Trainer
    ) -> None:
        self.folder, self.database = folder, database
        self._state = ProjectState(folder, settings, database, make_trainer)
        self._leases = Leases(self._state)
        self._answers = Answers(self._state)
        self._corrections = Corrections(self._state, self._answers, self._leases)
        self._annotations = Annotations(self._state, self._answers, self._corrections)
        self.class_changes = ClassChanges(self._state)
        self.notes = Notes(self._state)
        self.model_file = ModelFile(folder)
        self._evidence: tuple[Ranking | None, dict[Pair, int]] = (None, {})
        self.placement = Placement()

    # Making and opening

    @classmethod
    def create(
        cls,
        folder: str | Path,
        source: Source,
        labels: LabelTable | None = None,
        classes: Sequence[str] = (),
        learning: Learning | None = None,
        asking: Asking | None = None,
        database: str = "",
        progress: Progress = quiet,
        display: Display | None = None,
        media: kept.Media | None = None,
    ) -> "Project":
        """Create a project in a folder that does not exist or is empty, and open it; on any error nothing is left.

        Parameters
        ----------
        folder : str or Path
            Where to create it; its last part is the name of the project.
        source : Source
            The instances and ids of the bags, as `bagwise.formats.read` returns them.
        labels : LabelTable, optional
            Known labels, by ids of bags and names of classes.
        classes : sequence of str
            Names of classes, besides those of `labels`.
        learning, asking, display : Learning, Asking, Display, optional
            Settings; see `bagwise.project.settings`.
        database : str
            Address of a PostgreSQL database for the events; by default SQLite in the folder.
        progress : callable
            Called with the number of instances and files that were just written.
        media : Media, optional
            Files of the bags and the places of the instances in them.

        Returns
        -------
        Project
            The open project.

        Raises
        ------
        BagwiseError
            If the folder is not empty or cannot be written, or the data are invalid.
        """
        place = Path(folder)
        if place.exists() and (not place.is_dir() or any(place.iterdir())):
            raise BagwiseError(f"{place} exists already: choose another folder, or `bagwise import` into it.")
        settings = Settings(
            place.resolve().name,
            Data(source.n_features, source.dtype.name),
            learning or Learning(),
            asking or Asking(),
            display or Display(),
            database,
        )
        unfinished = place.resolve().with_name(f".{place.resolve().name}.{uuid.uuid4().hex[:8]}.part")
        try:
            unfinished.mkdir(parents=True)
            of_answers = database_of(unfinished, settings)
            try:
                placement = fill(unfinished, settings, of_answers, source, labels, classes, progress, media)
            finally:
                of_answers.close()
            if place.exists():
                place.rmdir()
            unfinished.replace(place)
        except OSError as error:
            raise BagwiseError(f"{place} cannot be made: {error.strerror or error}.") from error
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        project = cls.open(place)
        project.placement = placement
        return project

    @classmethod
    def open(cls, folder: str | Path, apart: bool = False, cluster: str = "", device: str = "") -> "Project":
        """Open an existing project; one of an older Bagwise is upgraded after a backup of its database.

        Parameters
        ----------
        folder : str or Path
            The folder of the project.
        apart : bool
            Whether a process of its own trains the model, so that asking and answering do not wait for it.
        cluster : str
            Address of a Ray cluster that searches questions in the partitions of the instances; empty: this process.
        device : {"", "cpu", "cuda", "auto"}
            Where questions are searched and the model learns, instead of where the settings say.

        Returns
        -------
        Project
            The open project.

        Raises
        ------
        BagwiseError
            If the folder is not a project, its database is missing, `cluster` is given without partitions, or there is
            no such device.
        """
        place = Path(folder)
        settings = Settings.read(place)
        if device:
            top_k_on(device)
            settings = replace(settings, asking=replace(settings.asking, device=device))
        database = database_of(place, settings)
        if not settings.database and not (place / DATABASE).exists():
            raise BagwiseError(f"{place} has no {DATABASE}: the answers are missing. Restore it from a backup.")
        try:
            upgrade_if_older(place, database)
            project = cls(
                place,
                settings,
                database,
                TrainerProcess.of(place, cluster, device) if apart else partial(Trainer, cluster=cluster),
            )
            if cluster:
                require_partitions(project.bags)
            return project
        except BaseException:
            database.close()
            raise

    def close(self) -> None:
        """Store a snapshot of the learner for a fast start, and close the database."""
        self._state.trainer.close()
        self.database.close()

    def __enter__(self) -> "Project":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Contents and model

    @property
    def settings(self) -> Settings:
        """The settings when the project was opened, and where the instances are stored now."""
        return self._state.settings

    @property
    def contents(self) -> Contents:
        """Bags, classes, imported labels and roles: everything but events and instances."""
        return self._state.contents

    @property
    def bags(self) -> Bags:
        """The instances, memory-mapped, or read from partitions when they are needed."""
        return self._state.bags

    @property
    def classes(self) -> list[str]:
        """The names of the classes, by position; also of those that are not asked any more."""
        return self.contents.classes

    @property
    def active_classes(self) -> list[str]:
        """The names of the classes that are asked about, predicted and counted."""
        return self.contents.class_list.active_names

    def known(self) -> tuple[Array, Array]:
        """Return what is known of every pair by position.

        Returns
        -------
        values : ndarray of int8, shape (bags, classes)
            1 present, 0 absent, -1 unknown.
        unsure : ndarray of bool, shape (bags, classes)
            Which pairs were answered with unsure.
        """
        with self._state.lock:
            self.catch_up()
            return self._state.counted.known()

    @property
    def votes(self) -> Votes:
        """The events about every pair, and what counts."""
        return self._state.votes

    @property
    def events(self) -> list[Event]:
        """All events, in order."""
        return self._state.events

    @property
    def learner(self) -> ActiveLearner:
        """The learner after every event so far."""
        return self.load()

    def snapshot(self) -> Snapshot:
        """Return the state of the learner and the error rates it assumes, as arrays."""
        self.catch_up()
        return self._state.trainer.snapshot()

    def load(self, progress: Progress = quiet) -> ActiveLearner:
        """Return the learner after every event so far; `progress` is called with numbers of replayed events.

        Parameters
        ----------
        progress : callable
            Called with the number of events that were replayed since the last call.

        Returns
        -------
        ActiveLearner
        """
        self.catch_up()
        return self._state.trainer.learner(progress)

    def rank(self, count: int) -> Ranking:
        """Learn new events for a while, then return the `count` best questions.

        Parameters
        ----------
        count : int
            Number of questions.

        Returns
        -------
        Ranking
            `questions`, best first, and how many events the model that ranked them had learned.
        """
        self.catch_up()
        return self._state.trainer.rank(count)

    def online_model(self) -> MIMLClassifier:
        """Return the learner's model after every event so far: the one that chooses the questions."""
        self.catch_up()
        return self._state.trainer.model()

    def model_info(self) -> ModelInfo:
        """Say which model predictions come from now; nothing is trained or replayed for it."""
        with self._state.lock:
            self.catch_up()
            trained, stored = self.model_file.current(self._state.counted)
            if trained is None:
                return online_info(self._state.counted, stored)
            return info_of(trained)

    def model(self) -> ProjectModel:
        """Return the model that predictions come from: the trained one where it is current, else the online one.

        Returns
        -------
        ProjectModel
            The classifier with its thresholds, the names of its classes and features, and `info`, which says which
            model it is.
        """
        with self._state.lock:
            self.catch_up()
            trained, stored = self.model_file.current(self._state.counted)
            contents = self.contents
        if trained is not None:
            # A class may have another name since it was trained.
            trained = named(trained, contents, self.folder)
            return ProjectModel(trained, info_of(trained))
        online = self.online_model()
        with self._state.lock:
            counted = self._state.counted
            online = with_provenance(named(online, counted.contents, self.folder), counted, "online")
        return ProjectModel(online, info_of(online, stored))

    def bags_passing(self, wanted: BagFilter = EVERYTHING) -> Array:
        """Return the positions of the bags that pass a filter and were not removed.

        Parameters
        ----------
        wanted : BagFilter
            Where and when the bags were recorded.

        Returns
        -------
        ndarray of int

        Raises
        ------
        BagwiseError
            If the filter names a site that does not exist, or no bag passes.
        """
        files, kept_bags = self.contents.bag_files, self.contents.kept_bags
        if not wanted:
            return kept_bags
        wanted.validate(files)
        found = kept_bags[wanted.mask(files)[kept_bags]]
        if not len(found):
            raise BagwiseError("No bag was recorded there and then: ask for more sites, days or hours.")
        return found

    def labels(self, wanted: BagFilter = EVERYTHING) -> LabelTable:
        """Return the current labels, imported or decided by answers.

        Parameters
        ----------
        wanted : BagFilter
            Only labels of bags that were recorded there and then.

        Returns
        -------
        LabelTable
            A row for each bag that was not removed, a column for each active class: 1 present, 0 absent, NaN unknown;
            which pairs are unsure; and the instances that are known to be of a class, or not to be.
        """
        with self._state.lock:
            known, unsure = self.known()
            active = self.contents.class_list.active
            values = np.where(known == queries.UNKNOWN, np.nan, known)
            kept_bags = self.bags_passing(wanted)
            ids = self.contents.ids[kept_bags].tolist()
            in_table = np.zeros(len(self.contents.ids), bool)
            in_table[kept_bags] = True
            placed = [
                PlacedLabel(str(self.contents.ids[bag]), self.classes[one.label_class], one.present, one.instance)
                for bag, one in instance_labels_of(self.contents, self.votes)
                if one.present is not None and in_table[bag] and one.label_class in active
            ]
            table = np.ix_(kept_bags, active)
            return LabelTable(ids, self.active_classes, values[table], unsure[table], placed=placed)

    def examples(self, label_class: int, count: int) -> list[int]:
        """Return positions of up to `count` bags that have the class: newest answers first, then imported ones.

        Parameters
        ----------
        label_class : int
            Position of the class.
        count : int
            The most bags.

        Returns
        -------
        list of int
        """
        answered = self.votes.decided_present(label_class, count)
        if len(answered) == count:
            return answered
        imported = self.contents.given[:, label_class] == 1
        for (bag, corrected_class), correction in self.votes.corrected_imports().items():
            if corrected_class == label_class:
                imported[bag] = correction.answer == "present"
        members = self.contents.class_list.members.get(label_class, ())
        of_members = [bag for member in members for bag in self.examples(member, count)]
        return list(dict.fromkeys([*answered, *np.flatnonzero(imported).tolist(), *of_members]))[:count]

    def medium(self, bag: int) -> kept.Kept | None:
        """Return the file of a bag and the places of its instances in it; None where it has no file.

        Parameters
        ----------
        bag : int
            Position of the bag.

        Returns
        -------
        Kept or None
        """
        return kept.kept_of(self.folder, self.contents, bag)

    def source_of(self, bag: int) -> BagSource | None:
        """Return the raw file that a bag is or is a clip of, with where and when it was recorded; None if not known.

        Parameters
        ----------
        bag : int
            Position of the bag.

        Returns
        -------
        BagSource or None
        """
        return self.contents.bag_files.of(bag)

    def locations(self) -> Locations:
        """Return where all bags and their instances are: their files, and the places in them."""
        return Locations.of_project(self.folder, self.contents)

    def shows_instances(self, bag: int) -> bool:
        """Whether a person sees several instances of the bag, by their places or in a table, and can point at one.

        Parameters
        ----------
        bag : int
            Position of the bag.

        Returns
        -------
        bool
            False where the bag has one instance, or a file in which no place of an instance is known.
        """
        return self._state.shows_instances(bag)

    def evidence(self, pairs: Sequence[Pair]) -> list[int]:
        """Return for each pair the instance of the bag that contributes most to P(class in bag).

        Parameters
        ----------
        pairs : sequence of (int, int)
            Bags and classes.

        Returns
        -------
        list of int
            Positions of instances in their bags.
        """
        model, ranking = self._state.trainer.newest(), self._state.trainer.rankings.newest
        if ranking is None or model is not ranking.model:
            # It may learn meanwhile.
            return self._strongest(model, pairs)
        # Read and replaced at once, since several threads may come here.
        kept_for, kept_evidence = self._evidence
        known = kept_evidence if kept_for is ranking else {}
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        if missing:
            known = known | dict(zip(missing, self._strongest(model, missing), strict=True))
            self._evidence = ranking, known
        return [known[pair] for pair in pairs]

    def _strongest(self, model: MIMLClassifier, pairs: Sequence[Pair]) -> list[int]:
        bags = sorted({bag for bag, _ in pairs})
        places = {bag: place for place, bag in enumerate(bags)}
        of_some = [(places[bag], label_class) for bag, label_class in pairs]
        return strongest_of(model, self.bags.select(bags), of_some) if pairs else []

    def validate_known(self) -> None:
        """Raise `BagwiseError` where no label is known, so that no model has learned anything."""
        with self._state.lock:
            self.catch_up()
            validate_known(self._state.counted)

    def predictions(self, wanted: BagFilter = EVERYTHING) -> PredictionTable:
        """Return what the model (see `model`) predicts for every pair of the bags that were not removed.

        Parameters
        ----------
        wanted : BagFilter
            Only for bags that were recorded there and then.

        Returns
        -------
        PredictionTable
            P(class in bag) of the active classes, the instance that contributes most to it, the thresholds and the
            name of the model; the files of the bags and the times of the instances where they are known.
        """
        without = np.setdiff1d(np.arange(len(self.bags)), self.bags_passing(wanted)).tolist()
        return predict(self.model().classifier, self.bags, self.classes, without, self.locations(), self._active())

    def _active(self) -> list[int]:
        return [int(place) for place in self.contents.class_list.active]

    def fit_model(self, trials: list[Trial] | None = None) -> MIMLClassifier:
        """Return a model fitted from scratch to everything known; it is not stored.

        Parameters
        ----------
        trials : list of Trial, optional
            With a list, its settings are chosen by held-out labels, and every trial is appended.

        Returns
        -------
        MIMLClassifier

        Raises
        ------
        BagwiseError
            If no label is known.
        """
        return fit(self._state.counted_copy(), self.folder, trials)

    def train(
        self, metric: str | None = None, trials: list[Trial] | None = None, to: str | Path | None = None
    ) -> ProjectModel:
        """Fit a model from scratch to everything known and store it: predictions come from it while it is current.

        Parameters
        ----------
        metric : str, optional
            Learn thresholds that are best for this metric; without one every threshold is a half.
        trials : list of Trial, optional
            As for `fit_model`.
        to : path, optional
            A file to write a copy to.

        Returns
        -------
        ProjectModel
            The model as it was stored.
        """
        counted = self._state.counted_copy()
        model = fit(counted, self.folder, trials)
        if metric is not None:
            learn_thresholds(counted, model, metric)
        model = with_provenance(model, counted, "trained", metric)
        if to is not None:
            model.save(to)
        self.model_file.write(model)
        return ProjectModel(model, info_of(model))

    # Finding

    def similar(
        self,
        bag: int | None = None,
        instance: int | None = None,
        instances: Array | None = None,
        wanted: BagFilter = EVERYTHING,
    ) -> Similar:
        """Return all other bags by how near their nearest instance is to an instance, to a bag, or to a file.

        The search is exact and reads all instances once, some at a time; they are compared as the model sees them.

        Parameters
        ----------
        bag : int, optional
            Position of the bag that is searched for; it is not among those that are found.
        instance : int, optional
            Position of an instance in it, the only one to compare with; by default all of the bag.
        instances : ndarray, shape (n, n_features), optional
            Without a bag: the instances to compare with, as `instances_of_file` returns them.
        wanted : BagFilter
            Only bags that were recorded there and then.

        Returns
        -------
        Similar
            The bags that were not removed, the nearest first, with the instance that is near.

        Raises
        ------
        BagwiseError
            If the bag or the instance does not exist, or neither a bag nor instances are given.

        Examples
        --------
        >>> import tempfile
        >>> rows = [np.array([[0.0, 0.0]]), np.array([[9.0, 9.0]]), np.array([[5.0, 5.0], [0.0, 1.0]])]
        >>> source = Source.of_bags(Path("made.npz"), rows, ["a", "b", "c"])
        >>> with tempfile.TemporaryDirectory() as place:
        ...     with Project.create(f"{place}/project", source, classes=["low"]) as project:
        ...         found = project.similar(bag=0)
        >>> found.bags.tolist(), found.instances.tolist()
        ([2, 1], [1, 0])
        """
        among = self.bags_passing(wanted)
        if bag is not None:
            self._state.validate_pair((bag, 0))
            self._state.validate_instances(bag, () if instance is None else (instance,))
            rows = self.bags[bag]
            instances = rows if instance is None else rows[instance : instance + 1]
            among = among[among != bag]
        if instances is None:
            raise BagwiseError("Say what to search for: a bag, or the instances of a file.")
        return nearest(self.bags, self._state.trainer.newest().transformer_, instances, among)

    def instances_of_file(self, path: str | Path, embed: str = "") -> Array:
        """Return the instances of a file that is not in the project, segmented and embedded as its files were.

        Parameters
        ----------
        path : str or Path
            A recording, picture or document.
        embed : str
            What was typed after `--embed` when the files of the project were imported; it is never stored.

        Returns
        -------
        ndarray, shape (n, n_features)

        Raises
        ------
        BagwiseError
            If the project was made from a table, was embedded differently, or the file cannot be segmented.
        """
        recipe = segmentation.recipe_of(self.folder)
        recipe = None if recipe is None else recipe.with_embedder(embed)
        return instances_of_file(Path(path), recipe, self.settings.data.features)

    def map(self, layout: str = plane.NEIGHBOURS_LAYOUT) -> plane.Plane:
        """Return the instances on a plane, or an even sample of 20,000 of them; computed where it is not stored.

        The same instances have the same map, whatever was answered.

        Parameters
        ----------
        layout : {"neighbours", "directions"}
            What is alike lies together (t-SNE, up to minutes), or the two directions in which they differ most.

        Returns
        -------
        Plane
            The points, their coordinates, and which instances they are.

        Raises
        ------
        BagwiseError
            If there is no such layout, or it cannot be stored.
        """
        found = self.stored_map(layout)
        if found is not None:
            return found
        learning = self.settings.learning
        transformer = fit_transformer(replay.model_of(learning).transformer, self.bags)
        return plane.make(self.folder, self.contents, self.bags, learning.scaling, transformer, layout)

    def stored_map(self, layout: str) -> plane.Plane | None:
        """Return a map of the instances that was computed before; None where there is none.

        Parameters
        ----------
        layout : {"neighbours", "directions"}
            As for `map`.

        Returns
        -------
        Plane or None
        """
        plane.validate_layout(layout)
        return plane.stored(self.folder, self.map_key(), layout)

    def map_key(self) -> str:
        """Return a hash of all that the map depends on."""
        return plane.key_of(self.contents, self.settings.learning.scaling)

    # Wrong answers

    def people(self) -> AnnotatorRates:
        """Return the error rate of each annotator that the model assumes now."""
        if self.settings.learning.noise != ESTIMATE:
            return AnnotatorRates.before(self.settings.learning.noise)
        self.catch_up()
        return self._state.trainer.people()

    def doubts(self) -> list[Doubt]:
        """Return every answer with the probability that it is wrong, the most doubtful first."""
        counted, model = self._state.counted_copy(), replay.model_of(self.settings.learning)
        return doubts(examine(counted.contents, counted.votes, self.bags, model), counted.contents, counted.votes)

    # Asking and answering

    def ask(self, annotator: str, count: int = 1, among: Collection[int] | None = None) -> list[Lease]:
        """Lease up to `count` questions to a person: their open leases first, then the best that are free.

        Asking again without answering returns the same leases.

        Parameters
        ----------
        annotator : str
            Name of the person.
        count : int
            The most questions to lease.
        among : collection of int, optional
            Only about the bags at these positions, as those of a region of the map; none is an audit then.

        Returns
        -------
        list of Lease
            Empty if nothing is left to ask this person.

        Raises
        ------
        NoQuestion
            If all open questions are leased to others.
        """
        return self._leases.ask(LeaseRequest(annotator, count, None if among is None else frozenset(among)))

    def waits(self, count: int, tried: int = 0) -> Iterator[Wait]:
        """Return what to wait for, and how long, before `lease`: a newer ranking may be published soon.

        Parameters
        ----------
        count : int
            Number of questions that are asked for.
        tried : int
            Number of attempts that found too few; after one, only a newer ranking is waited for.

        Returns
        -------
        iterator of (Future, float or None)
            What to wait for, and for how many seconds at most (None: no limit).
        """
        return self._leases.waits(count, tried)

    def make_ready(self) -> None:
        """Start training, and wait until there are questions to lease."""
        for published, seconds in self.waits(1):
            wait_for(published, seconds)

    def lease(self, requests: Sequence[LeaseRequest]) -> list[list[Lease] | None]:
        """`ask` for several people at once, without waiting.

        Parameters
        ----------
        requests : sequence of LeaseRequest
            Who asks, and for how many questions.

        Returns
        -------
        list of list of Lease, or None
            One entry for each request; None for one that must wait for more questions.
        """
        return self._leases.lease(requests)

    def answer(
        self,
        key: str,
        annotator: str,
        answer: str,
        seconds: float | None = None,
        shown: str | None = None,
        pair: Pair | None = None,
        where: Sequence[int] = (),
        elsewhere: Sequence[int] = (),
        instance: int | None = None,
    ) -> Event:
        """Save the answer to a question about one class; it is durable when this returns.

        The same answer sent again returns the same event.

        Parameters
        ----------
        key : str
            The key of the lease.
        annotator : str
            Name of the person.
        answer : {"present", "absent", "unsure", "skipped"}
            The answer.
        seconds : float, optional
            How long answering took.
        shown : str, optional
            What was shown with the question.
        pair : (int, int), optional
            Bag and class; with it the answer is saved even if the lease no longer exists.
        where, elsewhere : sequence of int
            Where the answer is *present*: instances that are of the class, and instances that are not.
        instance : int, optional
            The instance that the question is about, if it is about one; needed where `pair` is.

        Returns
        -------
        Event
            The event that was saved.

        Raises
        ------
        AlreadyAnswered
            If the question was answered differently, or this person answered the pair before.
        BagwiseError
            If the lease does not exist or is another person's, or an instance cannot be pointed at.
        """
        bag, classes = (None, None) if pair is None else (pair[0], (pair[1],))
        pointing = (tuple(where),), (tuple(elsewhere),)
        return self.submit(Submission(key, annotator, (answer,), classes, bag, seconds, shown, *pointing, instance))[0]

    def submit(self, submission: Submission) -> list[Event]:
        """Save the answer to a question about any number of classes, all or none; durable on return.

        Parameters
        ----------
        submission : Submission
            The answer; sent again, it returns the same events.

        Returns
        -------
        list of Event
            One for each class, that of the first class last.

        Raises
        ------
        AlreadyAnswered
            If one of the pairs was answered differently, or by this person before.
        BagwiseError
            If the lease does not exist, or is another person's.
        """
        return raised(self.submit_all([submission])[0])

    def submit_all(self, submissions: Sequence[Submission]) -> list[list[Event] | BagwiseError]:
        """`submit` for several people at once.

        Parameters
        ----------
        submissions : sequence of Submission
            The answers; each is saved or rejected by itself.

        Returns
        -------
        list of list of Event, or BagwiseError
            For each submission its events, or the error it was rejected with.
        """
        return self._answers.submit(submissions)

    def answer_listed(self, annotator: str, answer: str, pairs: Sequence[Pair], key: str) -> list[Event]:
        """Save one answer about several pairs that were not asked, all or none; with the same key, only once.

        None of the pairs may be imported as known or answered by this person before. The model's belief about each
        is stored with it, as for a question; none is an audit, since a person chose them.

        Parameters
        ----------
        annotator : str
            Name of the person.
        answer : {"present", "absent", "unsure", "skipped"}
            The answer, the same for all.
        pairs : sequence of (int, int)
            Bag and class of each.
        key : str
            Unique key of these answers.

        Returns
        -------
        list of Event
            One for each pair.

        Raises
        ------
        AlreadyAnswered
            If this person answered a pair before.
        BagwiseError
            If there is no pair, one does not exist or is named twice, or one has an imported label.
        """
        return self._answers.answer_listed(annotator, answer, pairs, key)

    def undo(self, annotator: str, key: str | None = None) -> Event:
        """Undo this person's last answer that is in effect; what it replaced is in effect again.

        Parameters
        ----------
        annotator : str
            Name of the person.
        key : str, optional
            Sent again with the same key, it undoes one answer only.

        Returns
        -------
        Event
            A `restoration` or a `retraction`.

        Raises
        ------
        BagwiseError
            If this person has no answer in effect.
        """
        return self._corrections.undo(annotator, key, together=False)[-1]

    def undo_together(self, annotator: str, key: str | None = None) -> list[Event]:
        """Like `undo`, but of a whole-bag answer all answers that are in effect.

        Parameters
        ----------
        annotator : str
            Name of the person.
        key : str, optional
            Sent again with the same key, it undoes the answers to one question only.

        Returns
        -------
        list of Event
            A `restoration` or a `retraction` for each answer.

        Raises
        ------
        BagwiseError
            If this person has no answer in effect.
        """
        return self._corrections.undo(annotator, key, together=True)

    def correct(
        self,
        number: int,
        annotator: str,
        answer: str,
        key: str | None = None,
        where: Sequence[int] = (),
        elsewhere: Sequence[int] = (),
    ) -> Event:
        """Replace an answer, and what it points at; both are kept.

        Parameters
        ----------
        number : int
            The number of the event to replace, which must be in effect.
        annotator : str
            Who corrects: the same person, an adjudicator, or the owner of the project.
        answer : {"present", "absent", "unsure", "skipped"}
            The new answer.
        key : str, optional
            Sent again with the same key, it is saved once.
        where, elsewhere : sequence of int
            Where the answer is *present*: instances that are of the class, and instances that are not.

        Returns
        -------
        Event
            The `correction`.

        Raises
        ------
        NotAllowed
            If this person may not replace that answer.
        AlreadyAnswered
            If it was replaced or undone before.
        BagwiseError
            If there is no such answer.
        """
        return self._corrections.correct(number, annotator, answer, key, Pointing.of(where, elsewhere))

    def correct_imported(
        self,
        pair: Pair,
        annotator: str,
        answer: str,
        key: str | None = None,
        where: Sequence[int] = (),
        elsewhere: Sequence[int] = (),
    ) -> Event:
        """Replace the imported label of a pair, or its last correction; all are kept.

        Parameters
        ----------
        pair : (int, int)
            Bag and class.
        annotator : str
            Who corrects: an adjudicator, the owner, or the only person in the project.
        answer : {"present", "absent", "unsure"}
            The new answer.
        key : str, optional
            Sent again with the same key, it is saved once.
        where, elsewhere : sequence of int
            Where the answer is *present*: instances that are of the class, and instances that are not.

        Returns
        -------
        Event
            The `correction`.

        Raises
        ------
        NotAllowed
            If this person may not replace imported labels.
        BagwiseError
            If the pair has no imported label.
        """
        return self._corrections.correct_imported(pair, annotator, answer, key, Pointing.of(where, elsewhere))

    def replaced(self, event: Event) -> Replaced | None:
        """Return what was in effect before a correction or an undo; None for an answer.

        Parameters
        ----------
        event : Event
            An event of this project.

        Returns
        -------
        Replaced or None
        """
        return replaced(self._state, event)

    def counts_as(self, pair: Pair) -> str | None:
        """Return what counts for a pair now.

        Parameters
        ----------
        pair : (int, int)
            Bag and class.

        Returns
        -------
        {"present", "absent", "unsure"} or None
            None where the pair is open.
        """
        known = known_of(self.contents, self.votes, pair)
        return None if known is None else ANSWER_OF[known.present]

    def known_instances(self, bag: int) -> list[InstanceLabel]:
        """Return what is known of the instances of a bag, without what people disagree about.

        Parameters
        ----------
        bag : int
            Position of the bag.

        Returns
        -------
        list of InstanceLabel
            By instance and class.
        """
        found = labels_in_bag(self.contents, self.votes, bag)
        if not found:
            return []
        disputed = {one for instances in disputed_in_bag(self.contents, self.votes, bag).values() for one in instances}
        return sorted(
            (label for label in found if label.present is not None and label.instance not in disputed),
            key=lambda label: (label.instance, label.label_class),
        )

    def disputed(self, pair: Pair) -> Instances:
        """Return the instances for this pair about which there is a disagreement, so that they teach nothing.

        Parameters
        ----------
        pair : (int, int)
            Bag and class.

        Returns
        -------
        tuple of int
            Instances that are said to be of the class and not to be of it, or to be of another class too.
        """
        return disputed_in_bag(self.contents, self.votes, pair[0]).get(pair, ())

    def adjudicate(
        self,
        pair: Pair,
        annotator: str,
        answer: str,
        where: Sequence[int] = (),
        elsewhere: Sequence[int] = (),
    ) -> Event:
        """Decide a pair, whatever others answered or pointed at.

        Parameters
        ----------
        pair : (int, int)
            Bag and class.
        annotator : str
            Name of an adjudicator.
        answer : {"present", "absent", "unsure"}
            The decision.
        where, elsewhere : sequence of int
            Where the answer is *present*: instances that are of the class, and instances that are not.

        Returns
        -------
        Event
            An `answer`, or a `correction` of this person's answer before.

        Raises
        ------
        BagwiseError
            If the person is not an adjudicator, or the pair has an imported label.
        """
        return self._corrections.adjudicate(pair, annotator, answer, Pointing.of(where, elsewhere))

    def annotate(self, annotation: Annotation) -> list[Event]:
        """Make the answers of a person about a bag what an annotation of another tool says.

        What is new in it is answered, what changed is corrected, and what it no longer says is undone; sent again, it
        changes nothing.

        Parameters
        ----------
        annotation : Annotation
            One version of it.

        Returns
        -------
        list of Event
            The events that were saved.

        Raises
        ------
        BagwiseError
            If some of it was rejected; the rest is saved.
        """
        return self._annotations.apply(annotation)

    def annotation_versions(self, prefix: str) -> dict[str, float]:
        """Return the last version of each annotation that events come from.

        Parameters
        ----------
        prefix : str
            What their ids begin with.

        Returns
        -------
        dict of str to float
            By id; infinity where the annotation was deleted.
        """
        self.catch_up()
        return self._annotations.versions(prefix)

    def set_role(self, annotator: str, role: str) -> None:
        """Set the role of a person.

        Parameters
        ----------
        annotator : str
            Name of the person, who need not have answered yet.
        role : {"annotator", "adjudicator"}
            The role.

        Raises
        ------
        BagwiseError
            If there is no such role, or the name is invalid.
        """
        validate_name(annotator)
        if role not in ("annotator", "adjudicator"):
            raise BagwiseError(f"There is no role {role!r}: choose annotator or adjudicator.")
        with self._state.lock, self.database.writing() as connection:
            queries.ensure_annotator(connection, annotator, role)
        self.catch_up()

    def catch_up(self) -> None:
        """Count new events, also of other processes; they are learned when a question or the model is needed."""
        self._state.catch_up()

    # Importing and keeping

    def import_(
        self,
        source: Source | None,
        labels: LabelTable | None = None,
        classes: Sequence[str] = (),
        progress: Progress = quiet,
        media: kept.Media | None = None,
        keep: Keep | None = None,
    ) -> None:
        """Add bags, labels, classes or media, all or nothing.

        Parameters
        ----------
        source : Source or None
            Instances of new bags.
        labels : LabelTable, optional
            Labels of bags, old or new.
        classes : sequence of str
            Names of new classes.
        progress : callable
            Called with the number of instances and files that were just written.
        media : Media, optional
            Files of bags and places of instances, which replace those before.
        keep : callable, optional
            Writes the instances of `source`; by default they are appended to the file of the project.

        Raises
        ------
        BagwiseError
            If the data are invalid or cannot be written; the project is then as before.
        """
        with self._state.lock:
            given = source, labels, classes, progress, media, keep
            self.placement = import_into(self.folder, self.settings, self.database, *given)
            self.catch_up()

    def import_details(self, details: Details) -> DetailsMatching:
        """Set where and when recordings were made; nothing is learned from it, and the model stays as it is.

        Parameters
        ----------
        details : Details
            The table, as `Details.read` returns it.

        Returns
        -------
        DetailsMatching
            How many recordings it is about, and which of its names the project does not have.

        Raises
        ------
        FileError
            If nothing of the table is in the project, or it names a clip, or one recording twice.
        """
        with self._state.lock, exclusive(self.folder):
            found = import_details(self.database, details)
            self.catch_up()
            return found

    def import_scores(self, table: ScoreTable, source: Source | None = None) -> Matching:
        """Add what a classifier thinks of the bags; the model starts from it, and learns how far it is right.

        Parameters
        ----------
        table : ScoreTable
            The scores, as `bagwise.formats.read_scores` returns them.
        source : Source, optional
            The instances that the bags were made from, where it has their times.

        Returns
        -------
        Matching
            Which names of bags and classes were found in the project.

        Raises
        ------
        BagwiseError
            If no score is of a bag and a class of the project, or the solver does not support scores.
        """
        solvers.validate_scores("update", self.settings.learning.update)
        with self._state.lock:
            matching = import_scores(self.folder, self.database, table, source)
            self.catch_up()
            return matching

    def opinion(self, pair: Pair, instance: int | None = None) -> Opinion | None:
        """Return what the classifier thinks of a pair; None where it said nothing.

        Parameters
        ----------
        pair : tuple of int
            Positions of the bag and the class.
        instance : int, optional
            Position of the instance in its bag that the question is about.

        Returns
        -------
        Opinion or None
            Of the instance, where it has a score; else of the bag or of its likeliest instance.
        """
        scores = self._state.scores
        if scores is None:
            return None
        first, last = self.contents.offsets[pair[0] : pair[0] + 2].tolist()
        of_instances = scores.of_instances[first:last, pair[1]]
        if instance is not None and not np.isnan(of_instances[instance]):
            return Opinion(scores.source, float(of_instances[instance]))
        found = [*of_instances, scores.of_bags[pair]]
        known = [float(one) for one in found if not np.isnan(one)]
        return Opinion(scores.source, max(known)) if known else None

    def remove(self, bags: Sequence[str], annotator: str) -> None:
        """Remove bags (by id): they are not asked about, learned or exported; their events are kept.

        Parameters
        ----------
        bags : sequence of str
            Ids of bags.
        annotator : str
            Who removes them.
        """
        set_removed(self._state, bags, annotator, True)

    def bring_back(self, bags: Sequence[str], annotator: str) -> None:
        """Undo `remove`: the answers about the bags count again.

        Parameters
        ----------
        bags : sequence of str
            Ids of bags.
        annotator : str
            Who brings them back.
        """
        set_removed(self._state, bags, annotator, False)

    def rename_file(self, bag: str, file: str | Path) -> None:
        """Show another file for a bag (by id); the bag keeps its id and its answers.

        Parameters
        ----------
        bag : str
            Id of the bag, or the name of a recording that is cut into clips.
        file : str or Path
            The file; its medium must be that of the file before, and its content what the bag was segmented from.

        Raises
        ------
        BagwiseError
            If there is no such bag, or the file cannot be shown.
        """
        with self._state.lock, exclusive(self.folder):
            self.catch_up()
            ids, files = self.contents.ids.tolist(), self.contents.bag_files
            if bag in files.names:
                position = int(np.argmax(files.file_of == files.names.index(bag)))
            elif bag in ids:
                position = int(files.holders[ids.index(bag)])
            else:
                raise BagwiseError(f"There is no bag {bag} in the project.")
            source = files.of(position)
            kept.replace_file(self.folder, position, bag if source is None else source.file.name, Path(file))

    def partition(
        self, count: int, to: str | Path | None = None, each: Each = in_processes, progress: Progress = quiet
    ) -> Path:
        """Move the instances into partitions.

        Parameters
        ----------
        count : int
            Number of partitions.
        to : str or Path, optional
            A folder for them, as on shared storage; by default the folder of the project.
        each : callable
            Runs the tasks that write them; by default in processes of this machine.
        progress : callable
            Called with the number of instances that were just written.

        Returns
        -------
        Path
            The folder of the partitions.
        """
        with self._state.lock:
            partition(self.folder, self.database, count, to, each, progress)
            self._state.reload()
            return partitions.place_of(self.folder, self.settings.data)

    def backup(self, target: str | Path) -> Path:
        """Copy the project while it is in use; the copy is a project of its own, with its events in SQLite.

        Parameters
        ----------
        target : str or Path
            A folder that does not exist or is empty.

        Returns
        -------
        Path
            The folder of the copy.
        """
        return back_up(self.folder, self.settings, self.database, Path(target))


def predict(
    model: MIMLClassifier,
    bags: Bags,
    classes: Sequence[str],
    without: Collection[int] = (),
    locations: Locations | None = None,
    only: Sequence[int] | None = None,
) -> PredictionTable:
    """Return P(class in bag) with the instance that carries most of it, computed for some bags at a time.

    Parameters
    ----------
    model : MIMLClassifier
        Its thresholds decide what is predicted; its provenance is the name of the model in the table.
    bags : Bags
        What to predict.
    classes : sequence of str
        The names of the model's classes.
    without : collection of int
        Positions of bags to leave out.
    locations : Locations, optional
        Where the bags and their instances are.
    only : sequence of int, optional
        Positions of the classes to return; by default all.

    Returns
    -------
    PredictionTable
        A row for each bag that is not left out.

    Examples
    --------
    >>> model = MIMLClassifier.from_weights([[1.0], [0.0]])
    >>> table = predict(model, Bags.from_list([[[0.0], [9.0]]], ids=["a"]), ["high", "low"])
    >>> table.ids, table.evidence
    (['a'], array([[1, 0]]))
    """
    made, columns = provenance_of(model), list(range(len(classes)) if only is None else only)
    probability, evidence, ids, bags_of_rows = [], [], list[str](), list[int]()
    for positions in bags.portions():
        wanted = positions[~np.isin(positions, list(without))]
        if not len(wanted):
            continue
        some = bags.select(wanted)
        ids += [str(name) for name in some.ids]
        bags_of_rows += wanted.tolist()
        probability.append(model.predict_proba(some)[:, columns])
        evidence.append(strongest_instances(model, some)[:, columns])
    strongest = np.concatenate(evidence)
    return PredictionTable(
        ids,
        [classes[place] for place in columns],
        np.concatenate(probability),
        strongest,
        np.asarray(model.thresholds_)[columns],
        "" if made is None else made.name,
        None if locations is None or not locations.known else [locations.span(bag) for bag in bags_of_rows],
        None if locations is None else locations.times(bags_of_rows, strongest),
    )
