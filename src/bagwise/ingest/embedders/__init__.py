"""Features of other models: a command, a Python function or an ONNX model that maps a file to instances."""
