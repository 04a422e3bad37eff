"""Names of classes from different sources: `Parus major`, `Great Tit`, BirdNET's `Parus major_Great Tit`.

Two names match where they are the same without regard to case, spacing, hyphens, accents and apostrophes; a name of the
form `A_B` also matches A, and B. A name that would match several others matches none of them, unless it is the same.
"""

import difflib
import unicodedata
from collections.abc import Sequence

import numpy as np

from bagwise.kernels import Array

BETWEEN = "_"
ALIKE = 0.75


class ClassNames:
    """Names that others are looked up in.

    Parameters
    ----------
    names : sequence of str
        The names of a classifier's classes.

    Examples
    --------
    >>> names = ClassNames(["Parus major_Great Tit", "Strix aluco_Tawny Owl"])
    >>> names.columns(["tawny owl", "Parus  Major", "wren"])
    array([ 1,  0, -1])
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._exact = {name: place for place, name in enumerate(names)}
        self._forms: dict[str, set[int]] = {}
        for place, name in enumerate(names):
            for form in forms(name):
                self._forms.setdefault(form, set()).add(place)

    def columns(self, wanted: Sequence[str]) -> Array:
        """Return the position of every wanted name among the names; -1 where none matches.

        Parameters
        ----------
        wanted : sequence of str
            Names in any of the forms above.

        Returns
        -------
        ndarray of int, shape (len(wanted),)
        """
        return np.array([self._place(name) for name in wanted], np.int64)

    def nearest(self, name: str, count: int = 3) -> list[str]:
        """Return the names that may be meant by one that matches none, the likeliest first.

        These are names that it matches together with others, names that are spelled alike, and names that have all its
        words, those with the fewest further words first.

        Parameters
        ----------
        name : str
            A name without a match.
        count : int
            The most names to return.

        Returns
        -------
        list of str

        Examples
        --------
        >>> names = ClassNames(["Parus major_Great Tit", "Strix aluco_Tawny Owl", "Troglodytes hiemalis_Winter Wren"])
        >>> names.nearest("Great Titt"), names.nearest("wren"), names.nearest("heron")
        (['Parus major_Great Tit'], ['Troglodytes hiemalis_Winter Wren'], [])
        """
        found: dict[int, None] = {}
        for form in forms(name):
            words = set(form.split())
            alike = difflib.get_close_matches(form, self._forms, count, ALIKE)
            wider = sorted(
                (other for other in self._forms if words < set(other.split())), key=lambda one: (len(one.split()), one)
            )
            for other in (form, *alike, *wider):
                found |= dict.fromkeys(sorted(self._forms.get(other, ())))
        return [self._names[place] for place in found][:count]

    def _place(self, name: str) -> int:
        if name in self._exact:
            return self._exact[name]
        for form in forms(name):
            found = self._forms.get(form, set())
            if len(found) == 1:
                return next(iter(found))
        return -1


def forms(name: str) -> list[str]:
    """Return the forms of a name that are compared, the whole name first.

    Parameters
    ----------
    name : str
        A name of a class.

    Returns
    -------
    list of str

    Examples
    --------
    >>> forms("Parus major_Great-Tit")
    ['parus major great tit', 'parus major', 'great tit']
    """
    parts = name.split(BETWEEN) if name.count(BETWEEN) == 1 else []
    return [form for form in dict.fromkeys(map(_plain, [name, *parts])) if form]


def _plain(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.casefold())
    kept = "".join(" " if one in "-_" else one for one in letters if one.isalnum() or one in " -_\t")
    return " ".join(kept.split())
