"""Perch v2 as ONNX: windows of five seconds at 32 kHz, scaled to a peak of 0.25 (van Merriënboer et al. 2025).

With `spatial`, each of the 16 x 4 cells of a window is an instance: a sixteenth of its time in one of four bands.
"""

from bagwise.ingest.pretrained.outputs import Output, Scores
from bagwise.ingest.pretrained.preset import Form, Preset
from bagwise.ingest.pretrained.sounds import Windows
from bagwise.ingest.pretrained.weights import Weights

WINDOWS = Windows(rate=32_000, seconds=5.0, peak=0.25, band=(60.0, 16_000.0))

PRESET = Preset(
    name="perch",
    description="Perch v2 (ONNX, your file): 1,536 numbers for 5 s of sound, or for each cell of it",
    licence="Apache 2.0; see the one that comes with your file",
    weights=Weights(
        variable="BAGWISE_PERCH",
        file="*.onnx",
        source="its developers (Google's Perch v2, converted to ONNX)",
        modules=("onnxruntime", "soundfile"),
    ),
    form=Form(WINDOWS, Output("embedding")),
    forms={"spatial": Form(WINDOWS, Output("spatial_embedding", cells=True))},
    scores=Scores("label", "softmax"),
)
