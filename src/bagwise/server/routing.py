"""Routes that are asked often: they look for optional parameters only where a request may have some.

FastAPI looks for every parameter in every request, and validates the default of each that is missing. That took a
third of the time of a request for a question which has none of them.
"""

import inspect
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from typing import Any

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel


class LeanRoute(APIRoute):
    """A route whose optional queries and headers are not looked for in a request without any of them.

    It has to be a route of the application itself: `include_router` makes others of it, which look for all.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what handles a request."""
        whole = self.dependant
        thorough = super().get_route_handler()
        self.dependant = _without_optional(whole)
        quick = super().get_route_handler()
        self.dependant = whole
        names = frozenset(_header_names(whole))

        async def handle(request: Request) -> Response:
            has_some = request.scope["query_string"] or any(name in names for name, _ in request.scope["headers"])
            return await (thorough if has_some else quick)(request)

        return handle


def _without_optional(dependant: Dependant) -> Dependant:
    """Without optional queries and headers whose functions have the same defaults, and that have but one name."""
    assert dependant.call is not None
    parameters = inspect.signature(dependant.call).parameters

    def is_needed(field: Any) -> bool:
        info = field.field_info
        has_other_names = isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel)
        has_other_names |= info.validation_alias not in (None, field.alias)
        return bool(has_other_names or info.is_required() or parameters[field.name].default != info.default)

    return replace(
        dependant,
        query_params=[one for one in dependant.query_params if is_needed(one)],
        header_params=[one for one in dependant.header_params if is_needed(one)],
        dependencies=[_without_optional(one) for one in dependant.dependencies],
    )


def _header_names(dependant: Dependant) -> Iterator[bytes]:
    for parameter in dependant.header_params:
        yield parameter.alias.lower().encode()
    for one in dependant.dependencies:
        yield from _header_names(one)
