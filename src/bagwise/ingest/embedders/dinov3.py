"""DINOv3 as ONNX: every patch of 16 x 16 pixels of a picture is an instance (Siméoni et al. 2025).

The picture is resized to 224 pixels on its longer side, so it has at most 196 patches. One class token and four
registers come before them. With `regions`, the segmenter's regions are the instances instead.
"""

from bagwise.ingest.pretrained.outputs import Output
from bagwise.ingest.pretrained.pictures import Patches, Regions
from bagwise.ingest.pretrained.preset import Form, Preset
from bagwise.ingest.pretrained.weights import Weights

PRESET = Preset(
    name="dinov3",
    description="DINOv3 (ONNX, your file): patches of pictures",
    licence="DINOv3 License: accept it where you get the model",
    weights=Weights(
        variable="BAGWISE_DINOV3", file="**/model.onnx", source="Meta's DINOv3", modules=("onnxruntime", "PIL")
    ),
    form=Form(Patches(patch=16), Output("last_hidden_state", cells=True, leading=5)),
    forms={"regions": Form(Regions(), Output("pooler_output"))},
)
