"""`dataclass` of the standard library, whose methods are compiled when they are first called.

The standard library compiles six or seven methods for each class where it is defined: half of what
importing kplan took, and most commands use a third of its classes. Here fields and slots are its
work as ever; a method stands in for each of the others, and has it compiled when it is called.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import FrozenInstanceError
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

__all__ = ["dataclass"]

_T = TypeVar("_T")

_ORDER = ("__lt__", "__le__", "__gt__", "__ge__")


def _lazy(
    *, slots: Literal[True], frozen: bool = False, order: bool = False
) -> Callable[[type[_T]], type[_T]]:
    """Make a dataclass with slots; `frozen` and `order` mean what they always mean."""
    del slots  # as the standard library has it
    compared = ("__repr__", "__eq__", *(_ORDER if order else ()), *(("__hash__",) * frozen))

    def made(given: type[_T]) -> type[_T]:
        cls = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(given)
        shared: Mapping[str, Any] = _FROZEN if frozen else {"__hash__": None}
        _add(cls, shared)
        _stand_in(cls, ("__init__",), {"repr": False, "eq": False, "frozen": frozen})
        _stand_in(cls, compared, {"init": False, "unsafe_hash": frozen, "order": order})
        return cls

    return made


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _lazy


def _has(cls: type, name: str) -> bool:
    """Whether a class defines a method itself; python denies a hash to those that define `==`."""
    own = cls.__dict__
    return name in own and not (name == "__hash__" and own[name] is None and "__eq__" in own)


def _add(cls: type, methods: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a class the methods that it does not define itself; tell which."""
    added = tuple(name for name in methods if not _has(cls, name))
    for name in added:
        setattr(cls, name, methods[name])
    return added


def _stand_in(cls: type, names: Iterable[str], wanted: Mapping[str, Any]) -> None:
    """Have methods compiled together, as `wanted`, when one of them is called."""

    def standing_in(name: str) -> Callable[..., Any]:
        def first(self: object, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - as called
            compiled = _compiled(cls, wanted)
            for each in added:
                setattr(cls, each, compiled.__dict__[each])
            return getattr(cls, name)(self, *given, **named)

        return first

    added = _add(cls, {name: standing_in(name) for name in names})


def _compiled(cls: Any, wanted: Mapping[str, Any]) -> type:  # noqa: ANN401 - a dataclass
    """Let the standard library compile methods, for a class with the same fields."""
    same = ("default", "default_factory", "init", "repr", "hash", "compare", "kw_only")
    every = [
        (each.name, each.type, dataclasses.field(**{name: getattr(each, name) for name in same}))
        for each in dataclasses.fields(cls)
    ]
    after = {"__post_init__": cls.__post_init__} if hasattr(cls, "__post_init__") else {}
    return dataclasses.make_dataclass(cls.__name__, every, namespace=after, **wanted)


def _refuse_to_set(self: object, name: str, value: object) -> NoReturn:
    del self, value
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> NoReturn:
    del self
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:  # noqa: ANN401 - a dataclass
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:  # noqa: ANN401 - a dataclass
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


_FROZEN: Mapping[str, Any] = {
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__getstate__": _state,
    "__setstate__": _set_state,
}
"""What all frozen classes share; the last two are for copies and pickles."""
