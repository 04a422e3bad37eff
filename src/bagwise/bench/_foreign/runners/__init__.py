"""ONE FILE = ONE COMPARED SYSTEM, run as `python -m runners.NAME TASK.npz RESULT.npz [WORD]`."""
