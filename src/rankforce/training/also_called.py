"""Arguments of a method under the names that XGBoost has for them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from rankforce.common.errors import RankforceError
from rankforce.training.aliases import refuse

Method = TypeVar("Method", bound=Callable[..., Any])


def also_called(**others: str) -> Callable[[Method], Method]:
    """A decorator: `other="ours"` takes the argument `other` for the argument `ours`.

    >>> class Greeter:
    ...     @also_called(whom="name")
    ...     def greet(self, name=None):
    ...         return f"hello {name}"
    >>> Greeter().greet(whom="you")
    'hello you'
    """

    def decorate(method: Method) -> Method:
        @functools.wraps(method)
        def called(self: Any, *args: Any, **given: Any) -> Any:
            if given.pop("feature_weights", None) is not None:
                refuse("feature_weights")
            for other in others.keys() & given.keys():
                value, ours = given.pop(other), others[other]
                if value is not None and given.get(ours) is not None:
                    raise RankforceError(f"give {ours} or {other}, not both")
                given[ours] = given.get(ours) if value is None else value
            return method(self, *args, **given)

        return cast(Method, called)

    return decorate
