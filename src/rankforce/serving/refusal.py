"""A request that is not answered, and why: a status of HTTP and one sentence."""

from __future__ import annotations


class Refusal(Exception):  # noqa: N818 - not an error of the server
    """What the client is told in place of an answer.

    >>> Refusal(404, "model: 'b' is not served: choose 'a'").status
    404
    """

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


def wrong(place: str, what: str) -> Refusal:
    """The refusal of a field: where it stands in the body, and what is wrong with it.

    >>> str(wrong("top", "expected an integer from 1 up, got 0"))
    'top: expected an integer from 1 up, got 0'
    """
    return Refusal(422, f"{place}: {what}")
