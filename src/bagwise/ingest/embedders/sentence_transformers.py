"""A sentence-transformers model as ONNX: paragraphs or sentences of documents (Reimers and Gurevych 2019).

Give the model's folder, or its `model.onnx`; `tokenizer.json` lies beside it or one folder up. A model that returns
tokens is averaged over them; embeddings have length 1.
"""

from bagwise.ingest.pretrained.outputs import Output
from bagwise.ingest.pretrained.preset import Form, Preset
from bagwise.ingest.pretrained.texts import Passages
from bagwise.ingest.pretrained.weights import Weights

PRESET = Preset(
    name="sentence-transformers",
    description="any sentence-transformers model (ONNX, your file): paragraphs, or sentences with --cut sentences",
    licence="see the one that comes with the model",
    weights=Weights(
        variable="BAGWISE_SENTENCE_TRANSFORMERS",
        file="**/model.onnx",
        source="the authors of a sentence-transformers model",
        modules=("onnxruntime", "tokenizers"),
    ),
    form=Form(Passages(), Output(unit=True)),
)
