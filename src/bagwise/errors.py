"""The one exception that carries a sentence meant for a person."""


class BagwiseError(ValueError):
    """Input that cannot be used; the message is one sentence that says where and what to do."""
