"""Routes that are asked often: what such a request needs is worked out once, when the route is made.

For every request FastAPI looks for its route, goes through a dozen functions to it, and through all parameters of the
route and of all that it depends on, also those that the request does not have. That took most of the time of an answer
and of a question. A lean route is found by its path, and the same functions are called directly, with the parameters
that the request has; whatever is wrong with a request, FastAPI says so.
"""

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.params import Form
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

JSON = "application/json"
SCALARS = (str, int, float, bool, NoneType)
ERROR = "bagwise.error"
"""In the scope of a request: the error that occurred when it was served without FastAPI."""


class LeanRoute(APIRoute):
    """A route whose function and dependencies may be called directly, by `LeanRoutes`.

    That is where all of them are coroutines without `yield`, and no query and no header is required. It has to be a
    route of the application itself: `include_router` makes others of it.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what handles a request that comes to FastAPI, perhaps with the error of the direct call."""
        thorough = super().get_route_handler()

        async def handle(request: Request) -> Response:
            error: Exception | None = request.scope.pop(ERROR, None)
            if error is not None:
                raise error
            return await thorough(request)

        return handle

    def direct(self) -> Callable[[Request], Awaitable[Response]] | None:
        """Return what responds to a request without FastAPI; None where that takes more than a call."""
        call = Call.of(self.dependant)
        if call is None or (self.response_model is None and not _returns_response(self.endpoint)):
            return None
        response_model, status = TypeAdapter[Any](self.response_model), self.status_code or 200

        optional = frozenset(call.names())

        async def respond(request: Request) -> Response:
            scope = request.scope
            given = {name for name, _ in scope["headers"] if name in optional}
            if scope["query_string"]:
                given |= optional.intersection(request.query_params)
            found = await call(request, given)
            if isinstance(found, Response):
                return found
            return Response(response_model.dump_json(found), status, media_type=JSON)

        return respond


class LeanRoutes:
    """Middleware that serves the lean ones of these routes itself.

    Where a request is invalid, or an error occurs, the application gets the request with all that was read of it.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[object]) -> None:
        self.app = app
        lean = ((route, route.direct()) for route in routes if isinstance(route, LeanRoute))
        self._routes = {
            (method, route.path): direct
            for route, direct in lean
            if direct is not None
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the function of a lean route, or pass the request on."""
        if scope["type"] != "http" or scope.get("root_path"):
            await self.app(scope, receive, send)
            return
        direct = self._routes.get((scope["method"], scope["path"]))
        if direct is None:
            await self.app(scope, receive, send)
            return
        messages = RequestMessages(receive)
        try:
            response = await direct(Request(scope, messages))
        except Exception as error:
            if not isinstance(error, (InvalidRequest, ClientDisconnect)):
                scope[ERROR] = error
            await self.app(scope, messages.again(), send)
        else:
            await response(scope, receive, send)


class RequestMessages:
    """The messages of a request, which can be read again."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._messages: list[Message] = []

    async def __call__(self) -> Message:
        """Return the next message."""
        message = await self._receive()
        self._messages.append(message)
        return message

    def again(self) -> Receive:
        """Return what receives all of it from the beginning."""
        messages = iter(self._messages)

        async def receive() -> Message:
            message = next(messages, None)
            return await self._receive() if message is None else message

        return receive


class InvalidRequest(Exception):
    """FastAPI says what is wrong with it."""


@dataclass(frozen=True)
class Call:
    """How a function is called with what a request has.

    Parameters
    ----------
    function : callable
        A coroutine function.
    request : str or None
        The parameter that gets the request.
    body : (str, type) or None
        The parameter that gets the body, and its model.
    queries, headers : dict of str or bytes to OptionalParameter
        The optional parameters, by their names in a request.
    dependencies : tuple of (str or None, Call)
        The parameters that get what other functions return; None where it is called but not passed on.
    """

    function: Callable[..., Awaitable[Any]]
    request: str | None
    body: tuple[str, type[BaseModel]] | None
    queries: Mapping[str, "OptionalParameter"]
    headers: Mapping[bytes, "OptionalParameter"]
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
        return cls(
            function,
            request,
            known[0] if known else None,
            {one.alias: OptionalParameter.of(one) for one in dependant.query_params},
            {one.alias.lower().encode(): OptionalParameter.of(one) for one in dependant.header_params},
            tuple(complete),
        )

    def names(self) -> Iterator[str | bytes]:
        """Yield the names of all optional parameters: strings are queries, bytes are headers."""
        yield from self.queries
        yield from self.headers
        for _, call in self.dependencies:
            yield from call.names()

    async def __call__(self, request: Request, given: Set[str | bytes]) -> Any:
        """Return what the function returns; raise `InvalidRequest` before it is called.

        The request has the `given` ones of the optional parameters.
        """
        arguments: dict[str, Any] = {}
        if self.request is not None:
            arguments[self.request] = request
        if given:
            for name, one in self.queries.items():
                if name in given:
                    arguments[one.name] = one.value(request.query_params)
            for header, one in self.headers.items():
                if header in given:
                    arguments[one.name] = one.value(request.headers)
        for parameter, call in self.dependencies:
            found = await call(request, given)
            if parameter is not None:
                arguments[parameter] = found
        if self.body is not None:
            parameter, model = self.body
            try:
                arguments[parameter] = model.model_validate_json(await request.body())
            except ValidationError as error:
                raise InvalidRequest from error
        return await self.function(**arguments)


@dataclass(frozen=True)
class OptionalParameter:
    """An optional parameter of a function: its name there and in a request, and the field that validates it."""

    name: str
    alias: str
    field: Any
    is_single: bool

    @classmethod
    def of(cls, field: Any) -> "OptionalParameter":
        """Return the parameter that FastAPI has analysed as this field."""
        return cls(field.name, field.alias, field, _is_scalar(field.field_info.annotation))

    def value(self, given: Mapping[str, str]) -> Any:
        """Return its value; raise `InvalidRequest` where it is invalid, or may be a list."""
        if self.is_single:
            value, errors = self.field.validate(given.get(self.alias), {}, loc=())
            if not errors:
                return value
        raise InvalidRequest


def _is_scalar(annotation: Any) -> bool:
    if get_origin(annotation) in (Union, UnionType):
        return all(map(_is_scalar, get_args(annotation)))
    return annotation in SCALARS


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
