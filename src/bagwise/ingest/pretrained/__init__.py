"""Trained models that embed: their weights, the libraries that run them, what goes in, and what comes out."""

from bagwise.ingest.pretrained.outputs import Output, Scores
from bagwise.ingest.pretrained.pictures import Patches, Regions
from bagwise.ingest.pretrained.preset import Form, Preset
from bagwise.ingest.pretrained.runtimes import Input, Model, open_litert, open_onnx
from bagwise.ingest.pretrained.sounds import Windows
from bagwise.ingest.pretrained.texts import Passages
from bagwise.ingest.pretrained.weights import Weights

__all__ = [
    "Form",
    "Input",
    "Model",
    "Output",
    "Passages",
    "Patches",
    "Preset",
    "Regions",
    "Scores",
    "Weights",
    "Windows",
    "open_litert",
    "open_onnx",
]
