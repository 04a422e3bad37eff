"""Routes that are asked often: what such a request needs is worked out once, when the route is made.

For every request FastAPI goes through all parameters of a route and of all that it depends on, also those that the
request does not have. That took half the time of an answer and of a question. A lean route calls the same functions
directly where a request has no optional parameter and a valid body; every other request goes to FastAPI.
"""

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.params import Form
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.requests import ClientDisconnect

JSON = "application/json"


class LeanRoute(APIRoute):
    """A route whose function and dependencies are called directly, without looking for optional queries and headers.

    That is where all of them are coroutines without `yield`, in a request without query and without any of their
    headers. It has to be a route of the application itself: `include_router` makes others of it.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what handles a request."""
        thorough = super().get_route_handler()
        call = Call.of(self.dependant)
        if call is None or (self.response_model is None and not _returns_response(self.endpoint)):
            return thorough
        headers = frozenset(_header_names(self.dependant))
        response_model, status = TypeAdapter[Any](self.response_model), self.status_code or 200

        async def handle(request: Request) -> Response:
            if request.scope["query_string"] or any(name in headers for name, _ in request.scope["headers"]):
                return await thorough(request)
            try:
                found = await call(request)
            except (InvalidBody, ClientDisconnect):
                return await thorough(request)
            if isinstance(found, Response):
                return found
            return Response(response_model.dump_json(found), status, media_type=JSON)

        return handle


class InvalidBody(Exception):
    """FastAPI says what is wrong with it."""


@dataclass(frozen=True)
class Call:
    """How a function is called with what a request always has.

    Parameters
    ----------
    function : callable
        A coroutine function.
    request : str or None
        The parameter that gets the request.
    body : (str, type) or None
        The parameter that gets the body, and its model.
    dependencies : tuple of (str or None, Call)
        The parameters that get what other functions return; None where it is called but not passed on.
    """

    function: Callable[..., Awaitable[Any]]
    request: str | None
    body: tuple[str, type[BaseModel]] | None
    dependencies: tuple[tuple[str | None, "Call"], ...]

    @classmethod
    def of(cls, dependant: Dependant) -> "Call | None":
        """Return how to call what FastAPI has analysed; None where that takes more than this."""
        function = dependant.call
        called = list(_functions(dependant))
        if function is None or not _is_coroutine_function(function) or len(set(map(id, called))) < len(called):
            return None
        parameters = inspect.signature(function).parameters
        others = (
            dependant.path_params,
            dependant.cookie_params,
            dependant.websocket_param_name,
            dependant.response_param_name,
            dependant.background_tasks_param_name,
            dependant.security_scopes_param_name,
        )
        optional = [*dependant.query_params, *dependant.header_params]
        if any(others) or any(_is_needed(one, parameters) for one in optional):
            return None
        dependencies = [(one.name, cls.of(one)) for one in dependant.dependencies]
        bodies = [_body_of(one) for one in dependant.body_params]
        complete = [(name, one) for name, one in dependencies if one is not None]
        known = [one for one in bodies if one is not None]
        if len(complete) < len(dependencies) or len(known) < len(bodies) or len(bodies) > 1:
            return None
        request = dependant.request_param_name or dependant.http_connection_param_name
        return cls(function, request, known[0] if known else None, tuple(complete))

    async def __call__(self, request: Request) -> Any:
        """Return what the function returns; raise `InvalidBody` before it is called."""
        arguments: dict[str, Any] = {}
        if self.request is not None:
            arguments[self.request] = request
        for name, call in self.dependencies:
            found = await call(request)
            if name is not None:
                arguments[name] = found
        if self.body is not None:
            name, model = self.body
            try:
                arguments[name] = model.model_validate_json(await request.body())
            except ValidationError as error:
                raise InvalidBody from error
        return await self.function(**arguments)


def _functions(dependant: Dependant) -> Iterator[Any]:
    yield dependant.call
    for one in dependant.dependencies:
        yield from _functions(one)


def _is_coroutine_function(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _is_needed(field: Any, parameters: Any) -> bool:
    """Whether a query or header must be looked for, or has other names, or another default than its function has."""
    info = field.field_info
    has_other_names = isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel)
    has_other_names |= info.validation_alias not in (None, field.alias)
    return bool(has_other_names or info.is_required() or parameters[field.name].default != info.default)


def _body_of(field: Any) -> tuple[str, type[BaseModel]] | None:
    """The parameter and the model of a body that is one model as JSON; None for any other."""
    info = field.field_info
    is_model = isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel)
    plain = is_model and info.is_required() and not isinstance(info, Form) and not getattr(info, "embed", None)
    return (field.name, info.annotation) if plain else None


def _returns_response(function: Callable[..., Any]) -> bool:
    returned = inspect.signature(function, eval_str=True).return_annotation
    return isinstance(returned, type) and issubclass(returned, Response)


def _header_names(dependant: Dependant) -> Iterator[bytes]:
    for parameter in dependant.header_params:
        yield parameter.alias.lower().encode()
    for one in dependant.dependencies:
        yield from _header_names(one)
