"""Import the many modules of a command in less time, and run a module as a process of its own.

Imports make hundreds of thousands of objects that stay, and no garbage: looking through them for garbage, again and
again, takes a fifth of the time of a start.
"""

import gc
import sys
from importlib import import_module
from types import ModuleType


def load(module: str) -> ModuleType:
    """Import a module and all it needs; what was made is not looked through for garbage, now or later.

    Parameters
    ----------
    module : str
        Its full name.

    Returns
    -------
    module

    Examples
    --------
    >>> load("bagwise.core.wording").counted(2, "bag")
    '2 bags'
    """
    if module in sys.modules:
        return sys.modules[module]
    was_on = gc.isenabled()
    gc.disable()
    try:
        return import_module(module)
    finally:
        gc.freeze()
        if was_on:
            gc.enable()


if __name__ == "__main__":
    load(sys.argv[1]).main(*sys.argv[2:])
