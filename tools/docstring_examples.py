"""A Griffe extension, named in mkdocs.yml: examples at the end of a docstring are shown as code, with a heading."""

import re

from griffe import Extension, Object

EXAMPLE = re.compile(r"^>>> ", flags=re.MULTILINE)
HEADING = "Examples\n--------\n"


class ExamplesExtension(Extension):
    """Puts the heading of a numpydoc section before the first `>>>` of a docstring that has none."""

    def on_object(self, *, obj: Object, **_: object) -> None:
        """Called by Griffe for every module, class, function and attribute."""
        if obj.docstring and HEADING not in obj.docstring.value:
            obj.docstring.value = EXAMPLE.sub(f"{HEADING}>>> ", obj.docstring.value, count=1)
