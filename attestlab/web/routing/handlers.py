"""Handlers: the functions behind a route. Their parameters are read at import, their services resolved at start-up.

A parameter is bound by its name or by its type:

- `request`, `query`, `body`, `caller`, `tx`, `foreseen`, `prepared` and `result` are parts of the request
  (`RequestParts`);
- a name in the path, such as `id` in `/v1/issuers/{id}`, is that path parameter;
- any other parameter is a service: the object of that class among the application's services.

So a handler states in its signature everything that it uses, type checkers see the services' own types, and an
unknown service fails at start-up, before the first request.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, get_type_hints
from uuid import UUID

PATH_TYPES: Final = (UUID, int, str)

Services = Mapping[type, object]
"""The services of an application by class."""


class RequestParts(NamedTuple):
    """The parts of a request that a handler may take by name."""

    request: object
    query: object = None  # the route's model of the query
    body: object = None  # the route's model of the body, or None if it is optional and was not sent
    caller: object = None  # the authenticated caller; None on a public route
    tx: object = None  # the write transaction; only in the handler of a write
    foreseen: object = None  # the keys that the group's handlers will read; only in `foresee`
    prepared: object = None  # the result of the route's `prepare`
    result: object = None  # the result of the handler; only in `respond`


@dataclass(frozen=True, slots=True)
class Handler:
    """A function with its parameters by kind."""

    function: Callable[..., object]
    parts: tuple[str, ...]
    path_types: Mapping[str, type]
    service_types: Mapping[str, type]
    returns: object  # the return annotation
    services: Mapping[str, object] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, function: Callable[..., object], *, path_names: tuple[str, ...]) -> Handler:
        """Read a function's parameters.

        Raises:
            TypeError: a path parameter has a type other than UUID, int or str, or a service is not a class.
        """
        hints = get_type_hints(function, include_extras=True)
        returns = hints.pop("return")
        path = {name: hints[name] for name in path_names if name in hints}
        services = {name: hint for name, hint in hints.items() if name not in RequestParts._fields and name not in path}
        _require_types(function, path, services)
        return cls(function, tuple(name for name in RequestParts._fields if name in hints), path, services, returns)

    def hint(self, name: str) -> object:
        """Return the annotation of a parameter, or None if the function does not take it."""
        return get_type_hints(self.function, include_extras=True).get(name)

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function."""
        return inspect.iscoroutinefunction(self.function)

    def bind(self, services: Services) -> Handler:
        """Return the handler with its services.

        Raises:
            TypeError: a parameter is neither a part of the request, a path parameter nor a known service.
        """
        missing = {name: kind.__name__ for name, kind in self.service_types.items() if kind not in services}
        if missing:
            raise TypeError(f"{self.name} takes {missing}, which are no services of this application.")
        return replace(self, services={name: services[kind] for name, kind in self.service_types.items()})

    def call(self, parts: RequestParts, path_values: Mapping[str, object]) -> object:
        """Call the function with its arguments; returns an awaitable if it is async."""
        arguments = {name: getattr(parts, name) for name in self.parts}
        for name in self.path_types:
            arguments[name] = path_values[name]
        return self.function(**arguments, **self.services)

    @property
    def name(self) -> str:
        """The function's full name, for messages."""
        return f"{self.function.__module__}.{self.function.__qualname__}"


def _require_types(function: Callable[..., object], path: Mapping[str, type], services: Mapping[str, type]) -> None:
    name = f"{function.__module__}.{function.__qualname__}"
    if not set(path.values()) <= set(PATH_TYPES):
        raise TypeError(f"{name} takes {path} from its path. Use UUID, int or str.")
    if not all(isinstance(kind, type) for kind in services.values()):
        raise TypeError(f"{name} takes {services}. A service is annotated with its class.")
    if strangers := [parameter for parameter, kind in services.items() if kind in PATH_TYPES]:
        raise TypeError(f"{name} takes {strangers}, which its path does not have. The names must agree.")
