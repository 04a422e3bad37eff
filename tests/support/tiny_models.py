"""ONNX models of a few nodes, with the inputs and outputs of the large ones that people bring."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INTEGER = TensorProto.FLOAT, TensorProto.INT64


def save(path, nodes, inputs, outputs, constants=(), **metadata):
    """Inputs and outputs map names to shapes; inputs of tokens are integers."""
    kinds = {name: INTEGER if name.endswith(("ids", "mask")) else FLOAT for name in inputs}
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, kinds[name], shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in dict(constants).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, metadata)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path)
    return path


def perch(path):
    """Of each of 64 cells, 2,500 samples, the largest and the smallest sample; their means; logits of three classes."""
    nodes = [
        helper.make_node("Reshape", ["inputs", "cells"], ["pieces"]),
        helper.make_node("ReduceMax", ["pieces"], ["most"], axes=[3], keepdims=1),
        helper.make_node("ReduceMin", ["pieces"], ["least"], axes=[3], keepdims=1),
        helper.make_node("Concat", ["most", "least"], ["spatial_embedding"], axis=3),
        helper.make_node("ReduceMean", ["spatial_embedding"], ["embedding"], axes=[1, 2], keepdims=0),
        helper.make_node("MatMul", ["embedding", "head"], ["label"]),
    ]
    outputs = {"embedding": ["n", 2], "spatial_embedding": ["n", 16, 4, 2], "label": ["n", 3]}
    constants = {"cells": np.array([-1, 16, 4, 2500]), "head": np.array([[900, 0, 0], [0, 9, 0]], np.float32)}
    return save(path, nodes, {"inputs": ["n", 160_000]}, outputs, constants)


def birdnet3(path):
    """The number of samples and the largest one; two probabilities."""
    nodes = [
        helper.make_node("Mul", ["input", "zero"], ["nothing"]),
        helper.make_node("Add", ["nothing", "one"], ["ones"]),
        helper.make_node("ReduceSum", ["ones", "last"], ["count"], keepdims=1),
        helper.make_node("ReduceMax", ["input"], ["loudest"], axes=[1], keepdims=1),
        helper.make_node("Concat", ["count", "loudest"], ["embeddings"], axis=1),
        helper.make_node("MatMul", ["embeddings", "head"], ["logits"]),
        helper.make_node("Sigmoid", ["logits"], ["predictions"]),
    ]
    constants = {
        "zero": np.float32(0),
        "one": np.float32(1),
        "last": np.array([1]),
        "head": np.array([[-1, 0], [0, 10]], np.float32),
    }
    outputs = {"predictions": ["n", 2], "embeddings": ["n", 2]}
    return save(path, nodes, {"input": ["n", "samples"]}, outputs, constants)


def dinov3(path):
    """The mean colour of every patch of 16 x 16 pixels as a token, after five tokens of zeros."""
    kernel = np.eye(3, dtype=np.float32)[:, :, None, None] * np.full((1, 1, 16, 16), 1 / 256, np.float32)
    nodes = [
        helper.make_node("Conv", ["pixel_values", "kernel"], ["patches"], strides=[16, 16]),
        helper.make_node("Reshape", ["patches", "flat"], ["channels"]),
        helper.make_node("Transpose", ["channels"], ["tokens"], perm=[0, 2, 1]),
        helper.make_node("Pad", ["tokens", "pads"], ["last_hidden_state"]),
        helper.make_node("ReduceMean", ["tokens"], ["pooler_output"], axes=[1], keepdims=0),
    ]
    constants = {"kernel": kernel, "flat": np.array([0, 3, -1]), "pads": np.array([0, 5, 0, 0, 0, 0])}
    outputs = {"last_hidden_state": ["n", "tokens", 3], "pooler_output": ["n", 3]}
    return save(path, nodes, {"pixel_values": ["n", 3, "h", "w"]}, outputs, constants)


def sentences(path, table, name="last_hidden_state"):
    """Every token by its row of a table, plus the type of the token, which must be zero."""
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("Cast", ["token_type_ids"], ["types"], to=FLOAT),
        helper.make_node("Unsqueeze", ["types", "last"], ["columns"]),
        helper.make_node("Add", ["rows", "columns"], [name]),
    ]
    shape = ["n", "tokens"]
    inputs = dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), shape)
    constants = {"table": np.asarray(table, np.float32), "last": np.array([2])}
    return save(path, nodes, inputs, {name: [*shape, len(table[0])]}, constants)


def tokenizer(path, words):
    """Words by their numbers; 0 is the padding and 1 all other words."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    vocabulary = {"[PAD]": 0, "[UNK]": 1} | {word: number for number, word in enumerate(words, start=2)}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.save(str(path))
