"""A person's request for questions."""

from dataclasses import dataclass

from bagwise.learning.questions import Question

TRIES = 30
TRIES_AMONG = 7
"""Of a request for some bags alone: it gives up when none of the best 256,000 questions is about them."""


@dataclass(frozen=True)
class LeaseRequest:
    """A person's request for questions.

    Parameters
    ----------
    annotator : str
        Name of the person.
    count : int
        The most questions to lease; leases that the person has already are among them.
    among : frozenset of int, optional
        Only questions about these bags; none of them is an audit, since a person chose the bags.

    Examples
    --------
    >>> LeaseRequest("ann").count
    1
    """

    annotator: str
    count: int = 1
    among: frozenset[int] | None = None

    def allows(self, question: Question) -> bool:
        """Whether the question may be leased for this request.

        Parameters
        ----------
        question : Question
            A question of the ranking, or of a lease.

        Returns
        -------
        bool
        """
        return self.among is None or (question.bag in self.among and not question.audit)

    @property
    def tries(self) -> int:
        """How often a longer or newer ranking is waited for."""
        return TRIES if self.among is None else TRIES_AMONG
