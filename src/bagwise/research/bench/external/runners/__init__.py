"""ONE FILE = ONE COMPARED SYSTEM, run as `python -m runners.NAME TASK.npz RESULT.npz [WORD]`.

Each has one thread, and its clock is the CPU time of the process: other users of the machine do not count.
"""
