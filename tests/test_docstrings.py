"""Every exported name has a numpydoc docstring: a reader of it need not open the source.

Exported is what the `__init__` of a public package exports, the functions and classes of the modules whose members
a reference page shows, and what a page of the documentation imports.
"""

import inspect
import pkgutil
import re
from importlib import import_module
from pathlib import Path
from types import FunctionType

import pytest
from griffe import Docstring, DocstringSectionKind

import bagwise

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]

# Packages that are no part of the library, with the reason.
NOT_PUBLIC = {
    "bagwise.cli": "its functions are commands: their docstrings are the text of --help",
    "bagwise.kernels": "arrays in, arrays out for the other packages; no reference page shows it",
    "bagwise.kernels.gpu": "as bagwise.kernels, and torch may be missing",
}
KINDS = (FunctionType, type)


def defined_in(module):
    """The public functions and classes that a module defines itself."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and is_documented(value) and value.__module__ == module.__name__
    ]


def is_documented(value):
    """Whether a value has a docstring of its own: constants and aliases of types have none."""
    return isinstance(inspect.unwrap(value) if callable(value) else value, KINDS)


def exported_by_packages():
    packages = [one.name for one in pkgutil.walk_packages(bagwise.__path__, "bagwise.") if one.ispkg]
    for package in ["bagwise", *packages]:
        if package not in NOT_PUBLIC and "migrations" not in package:
            module = import_module(package)
            yield from ((package, name) for name in getattr(module, "__all__", None) or defined_in(module))


def shown_by_pages():
    """`::: package.*` shows the members of all public modules of a package, unless `members: false` follows."""
    for page in (ROOT / "docs" / "reference").glob("*.md"):
        for package, options in re.findall(r"^::: (bagwise[\w.]*)\.\*\n((?: +.*\n)*)", page.read_text(), re.MULTILINE):
            if "members: false" not in options:
                for one in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
                    if "._" not in one.name:
                        yield from ((one.name, name) for name in defined_in(import_module(one.name)))


def imported_by_pages():
    for page in PAGES:
        for module, names in re.findall(r"^ *from (bagwise[\w.]*) import ([\w, ]+)$", page.read_text(), re.MULTILINE):
            yield from ((module, name.partition(" as ")[0].strip()) for name in names.split(","))


def exported():
    """Every exported function and class, once, by the name under which it is defined."""
    found = {}
    for module, name in [*exported_by_packages(), *shown_by_pages(), *imported_by_pages()]:
        package = import_module(module)
        value = getattr(package, name) if hasattr(package, name) else import_module(f"{module}.{name}")
        if is_documented(value):
            found[f"{value.__module__}.{value.__qualname__}"] = value
    return dict(sorted(found.items()))


def methods_of(cls):
    """The public functions of a class and of its bases in Bagwise that have parameters."""
    for base in cls.__mro__:
        if not base.__module__.startswith("bagwise."):
            continue
        for name, value in vars(base).items():
            function = inspect.unwrap(getattr(value, "__func__", value))
            public = not name.startswith("_") or name == "__call__"
            written = isinstance(function, FunctionType) and function.__module__.startswith("bagwise.")
            is_field = name in getattr(base, "__dataclass_fields__", {})
            if public and written and not is_field and parameters_of(function):
                yield f"{base.__module__}.{base.__qualname__}.{name}", function


def methods():
    classes = [value for value in EXPORTED.values() if isinstance(value, type)]
    return dict(sorted(pair for cls in classes for pair in methods_of(cls)))


def parameters_of(value):
    """Names of the parameters as numpydoc writes them; an exception or protocol without an `__init__` has none."""
    if isinstance(value, type) and not any(
        "__init__" in vars(base) or "__new__" in vars(base)
        for base in value.__mro__
        if base.__module__.startswith("bagwise.") and not getattr(base, "_is_protocol", False)
    ):
        return []
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [
        stars.get(parameter.kind, "") + name
        for name, parameter in inspect.signature(value).parameters.items()
        if name not in ("self", "cls") and not name.startswith("_")
    ]


def sections_of(value):
    text = inspect.cleandoc(value.__doc__ or "")
    return text, {section.kind: section.value for section in Docstring(text).parse("numpy", warnings=False)}


def returns_something(function):
    returned = inspect.signature(function).return_annotation
    return returned not in (None, "None", inspect.Signature.empty) and "NoReturn" not in str(returned)


def faults_of(value):
    """What the docstring of a function or class lacks."""
    text, sections = sections_of(value)
    summary, _, rest = text.partition("\n")
    if not summary or (rest and not rest.startswith("\n")):
        yield "the first line is not a summary of one line"
    described = {
        name.strip() for one in sections.get(DocstringSectionKind.parameters, ()) for name in one.name.split(",")
    }
    if missing := [name for name in parameters_of(value) if name not in described]:
        yield f"`Parameters` lacks {', '.join(missing)}"
    results = {DocstringSectionKind.returns, DocstringSectionKind.yields} & sections.keys()
    if isinstance(value, FunctionType) and returns_something(value) and not results:
        yield "`Returns` is missing"


EXPORTED = exported()
METHODS = methods()


def test_what_is_exported_is_found():
    assert len(EXPORTED) > 150
    assert {"bagwise.data.bags.Bags", "bagwise.learning.criteria.uncertainty.uncertainty"} <= EXPORTED.keys()
    assert {"bagwise.learning.base.Learner.tell", "bagwise.data.metrics.Metric.__call__"} <= METHODS.keys()


def test_a_docstring_that_lacks_something_is_found():
    def half(number: float, *more: float) -> float:
        """Return half of a number.

        Parameters
        ----------
        number : float
            The number.
        """

    assert list(faults_of(half)) == ["`Parameters` lacks *more", "`Returns` is missing"]


@pytest.mark.parametrize("name", EXPORTED)
def test_an_exported_name_says_what_it_takes_and_returns_and_has_an_example(name):
    value = EXPORTED[name]
    faults = list(faults_of(inspect.unwrap(value)))
    if not re.search(r"^Examples\n--------\n(?s:.*)^>>> ", inspect.cleandoc(value.__doc__ or ""), re.MULTILINE):
        faults.append("`Examples` is missing")
    assert not faults, f"{name}: {'; '.join(faults)}"


@pytest.mark.parametrize("name", METHODS)
def test_a_method_of_an_exported_class_says_what_it_takes_and_returns(name):
    faults = list(faults_of(METHODS[name]))
    assert not faults, f"{name}: {'; '.join(faults)}"
