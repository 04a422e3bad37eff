"""Optional dependencies: which extra installs which modules, and an error where they are missing."""

from importlib.util import find_spec

from bagwise.core.errors import BagwiseError

MODULES = {
    "app": ("sqlalchemy", "alembic", "fastapi", "pydantic", "uvicorn", "polars"),
    "figures": ("altair", "vl_convert", "polars"),
    "tables": ("polars",),
}


def is_installed(extra: str) -> bool:
    """Whether every module of an extra can be imported; nothing is imported to find out."""
    return all(find_spec(module) for module in MODULES[extra])


def require(extra: str, purpose: str) -> None:
    """Raise an error where an extra is not installed; `purpose` begins the message, as in "Figures"."""
    if not is_installed(extra):
        missing = ", ".join(module for module in MODULES[extra] if not find_spec(module))
        raise BagwiseError(f"{purpose} need {missing}: install with `pip install 'bagwise[{extra}]'`.")
