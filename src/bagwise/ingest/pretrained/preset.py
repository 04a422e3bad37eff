"""Presets: everything that has to be known about a model to embed files with it, under a name.

A person types `NAME`, or `NAME:OPTION,OPTION=VALUE`; `weights=PATH` and, for models with scores, `labels=PATH` are
options of every preset.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import BagwiseError, FileError
from bagwise.ingest.fingerprints import Fingerprint
from bagwise.ingest.pretrained.batches import Inputs
from bagwise.ingest.pretrained.outputs import Output, Scores
from bagwise.ingest.pretrained.runtimes import Model, open_onnx
from bagwise.ingest.pretrained.weights import Weights
from bagwise.ingest.types import SegmentFunction, Segments, scores_of_rows

WEIGHTS, LABELS = "weights", "labels"
PATHS = (WEIGHTS, LABELS)
BETWEEN_OPTIONS = re.compile(r",(?=[a-z_]+(?:[=,]|$))")


@dataclass(frozen=True)
class Form:
    """What goes into a model and which output is the embedding.

    Parameters
    ----------
    inputs : Windows, Regions, Patches or Passages
        What goes in.
    output : Output
        Which output is the embedding, and how its axes are read.

    Examples
    --------
    >>> from bagwise.ingest.pretrained import Windows
    >>> Form(Windows(48_000, 3.0)).inputs.medium
    'sound'
    """

    inputs: Inputs
    output: Output = field(default_factory=Output)


@dataclass(frozen=True)
class Preset:
    """A model by name.

    Parameters
    ----------
    name : str
        What is typed after `--embed`.
    description : str
        In a few words.
    licence : str
        Of the model, which may differ from that of the code; shown where a person chooses it.
    weights : Weights
        Where its file comes from.
    form : Form
        What goes in, and which output is the embedding.
    forms : mapping of str to Form
        Others that a person may choose, by the option that is typed.
    scores : Scores, optional
        Which output holds the scores of classes.
    open : callable
        Loads the model from its file.

    Examples
    --------
    >>> from bagwise.ingest.pretrained import Windows
    >>> owls = Preset("owls", "owls", "CC0", Weights("OWLS", source="us"), Form(Windows(16_000, 1.0)))
    >>> owls.medium, owls.missing("owls")[:9]
    ('sound', 'the model')
    """

    name: str
    description: str
    licence: str
    weights: Weights
    form: Form
    forms: Mapping[str, Form] = field(default_factory=dict)
    scores: Scores | None = None
    open: Callable[[Path], Model] = open_onnx

    @property
    def medium(self) -> str:
        """The medium that it embeds."""
        return self.form.inputs.medium

    @property
    def options(self) -> tuple[str, ...]:
        """The names of all options that may be typed."""
        paths = PATHS if self.scores is not None else (WEIGHTS,)
        return (*self.forms, *self.form.inputs.options, *paths)

    def missing(self, text: str = "") -> str:
        """Return what has to be installed or given before it can be used; empty where nothing is missing.

        Parameters
        ----------
        text : str
            What is typed after `--embed`.

        Returns
        -------
        str
        """
        return self.weights.missing(self._parsed(text).get(WEIGHTS, ""))

    def classes(self, text: str) -> list[str]:
        """Return the names of the classes that it scores; empty where it scores none, or no file names them.

        Parameters
        ----------
        text : str
            What is typed after `--embed`.

        Returns
        -------
        list of str
        """
        options = self._parsed(text)
        return self.scores.classes(self._path(text, options), options) if self.scores is not None else []

    def fingerprint(self, text: str) -> str:
        """Return the name, the options and the digest of the weights: the file may be moved.

        Parameters
        ----------
        text : str
            What is typed after `--embed`.

        Returns
        -------
        str

        Raises
        ------
        BagwiseError
            If an option is unknown, or something is missing.
        """
        options = self._parsed(text)
        return f"{self.name}:{digest_of(self._path(text, options))}{typed(options)}"

    def embedder(self, text: str, segmenter: Any) -> SegmentFunction:
        """Return a function that segments a file and embeds its segments.

        Parameters
        ----------
        text : str
            What is typed after `--embed`.
        segmenter : module
            The segmenter of the files.

        Returns
        -------
        callable
            Maps the path of a file to `Segments`, with scores where classes are named.

        Raises
        ------
        BagwiseError
            If something is missing, or the model is not the one that the preset describes.
        """
        options = self._parsed(text)
        path = self._path(text, options)
        classes = self.classes(text)
        chosen = next((form for name, form in self.forms.items() if name in options), self.form)
        form = Form(chosen.inputs.configured(options), chosen.output)
        return embed_with(path, self.open(path), form, segmenter, self.scores if classes else None, classes)

    def describe(self) -> dict[str, Any]:
        """Return what it declares, as plain values.

        Returns
        -------
        dict of str to any
        """
        return {
            "medium": self.medium,
            "licence": self.licence,
            **self.form.inputs.describe(),
            "embedding": self.form.output.name or "the first output",
            "scores": self.scores.output if self.scores is not None else None,
            "class_names": list(self.scores.labels) if self.scores is not None else None,
            "options": list(self.options),
            "package": self.weights.package or None,
            "variable": self.weights.variable,
        }

    def _parsed(self, text: str) -> dict[str, str]:
        return parse_options(text, self.options)

    def _path(self, text: str, options: Mapping[str, str]) -> Path:
        if missing := self.missing(text):
            raise BagwiseError(f"--embed {self.name} needs {missing}.")
        path = self.weights.find(options.get(WEIGHTS, ""))
        assert path is not None
        return path


def parse_options(text: str, known: Sequence[str]) -> dict[str, str]:
    """Return the options of `NAME:OPTION,OPTION=VALUE`, those without a value as empty texts.

    Parameters
    ----------
    text : str
        What is typed after `--embed`.
    known : sequence of str
        The names that there are.

    Returns
    -------
    dict of str to str

    Raises
    ------
    BagwiseError
        If a name is unknown.

    Examples
    --------
    >>> parse_options("perch:spatial,weights=/models/perch,v2.onnx", ("spatial", "weights"))
    {'spatial': '', 'weights': '/models/perch,v2.onnx'}
    """
    name, _, rest = text.partition(":")
    given = [part.partition("=") for part in BETWEEN_OPTIONS.split(rest)] if rest else []
    options = {option.strip(): value for option, _, value in given}
    if unknown := [option for option in options if option not in known]:
        raise BagwiseError(f"--embed {name}: there is no option {unknown[0]!r}: choose among {', '.join(known)}.")
    return options


def typed(options: Mapping[str, str]) -> str:
    """Return the options that change the features, as a text that does not depend on their order.

    Parameters
    ----------
    options : mapping of str to str
        What a person typed.

    Returns
    -------
    str

    Examples
    --------
    >>> typed({"weights": "a.onnx", "spatial": "", "overlap": "1"})
    ':overlap=1,spatial='
    """
    chosen = sorted(f"{name}={value}" for name, value in options.items() if name not in PATHS)
    return f":{','.join(chosen)}" if chosen else ""


def digest_of(path: Path) -> str:
    """Return the digest of a model.

    Parameters
    ----------
    path : Path
        The file of the model.

    Returns
    -------
    str

    Raises
    ------
    FileError
        If it cannot be read.
    """
    try:
        return Fingerprint.of(path).digest
    except OSError as error:
        raise FileError(path, f"cannot be read: {error.strerror}.") from error


def embed_with(
    path: Path, model: Model, form: Form, segmenter: Any, scores: Scores | None = None, classes: Sequence[str] = ()
) -> SegmentFunction:
    """Return a function that embeds a file with a loaded model.

    Parameters
    ----------
    path : Path
        The file of the model, named in errors.
    model : Model
        The model.
    form : Form
        What goes in, and which output is the embedding.
    segmenter : module
        The segmenter of the files.
    scores : Scores, optional
        Which output holds the scores of classes.
    classes : sequence of str
        Their names.

    Returns
    -------
    callable
        Maps the path of a file to `Segments`.

    Raises
    ------
    FileError
        If the model takes something else, or has no such output.
    """
    read = form.inputs.reader(path, model, segmenter)
    wanted = [form.output.choose(model.outputs)] + ([scores.output] if scores is not None else [])
    if absent := [name for name in wanted if name not in model.outputs]:
        raise FileError(path, f"has no output {absent[0]!r}, only {', '.join(model.outputs)}: this is another model.")

    def embed(file: Path) -> Segments:
        features, places, scored, count, shown = [], [], [], 0, None
        for batch in read(file):
            found, *probabilities = model.run(batch.values, wanted)
            if form.output.cells:
                rows, where = form.output.instances(found, batch.places, batch.grid, form.inputs.split)
            else:
                rows, where = form.output.rows(found, batch.mask), batch.places
            features.append(rows)
            places.append(where)
            if scores is not None:
                scores.validate(path, probabilities[0], classes)
                scored.append(scores_of_rows(scores.probabilities(probabilities[0]), count, len(rows) // len(found)))
            count, shown = count + len(rows), batch.shown
        together = np.concatenate(scored) if scores is not None else None
        return Segments(np.concatenate(features), np.concatenate(places), shown=shown, scores=together)

    return embed
