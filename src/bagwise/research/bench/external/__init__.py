"""Programs that run under another interpreter, beside other libraries; they are given arrays and import no Bagwise.

The runners `ours*` are the exception: they run Bagwise itself, under its own interpreter.
"""
