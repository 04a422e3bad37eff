"""BirdNET 3.0 as ONNX: sound at 32 kHz of any length, here three seconds unless `seconds` says otherwise.

Its developers publish it as a preview; the table of its classes belongs beside it.
"""

from bagwise.ingest.pretrained.outputs import Output, Scores
from bagwise.ingest.pretrained.preset import Form, Preset
from bagwise.ingest.pretrained.sounds import Windows
from bagwise.ingest.pretrained.weights import Weights

PRESET = Preset(
    name="birdnet3",
    description="BirdNET 3.0 (ONNX, your file): windows of any length, 3 s by default",
    licence="see the one that comes with the model",
    weights=Weights(
        variable="BAGWISE_BIRDNET3",
        file="*.onnx",
        source="the developers of BirdNET",
        modules=("onnxruntime", "soundfile"),
    ),
    form=Form(Windows(rate=32_000, seconds=3.0, variable=True), Output("embeddings")),
    scores=Scores("predictions"),
)
