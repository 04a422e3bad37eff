"""Words of sentences for people: counts with their nouns."""


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, which has an *s* unless it is one.

    Parameters
    ----------
    count : int
        How many.
    noun : str
        The word for one of them; *class* becomes *classes*.

    Returns
    -------
    str

    Examples
    --------
    >>> counted(1, "answer"), counted(1200, "answer"), counted(2, "class")
    ('1 answer', '1200 answers', '2 classes')
    """
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"
