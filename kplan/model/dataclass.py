"""`dataclass` of the standard library, whose methods are compiled only when used.

The standard library compiles six or seven methods for each class: half of what importing kplan
took, and most commands use a third of its classes. Here it makes the fields and slots; comparison,
hash and repr are closures over the names of the fields, and `__init__` is compiled when it is
first called (decision 0100).
"""

import dataclasses
import operator
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

__all__ = ["dataclass"]

_T = TypeVar("_T")

_ORDER = ("__lt__", "__le__", "__gt__", "__ge__")


def _dataclass(
    *, slots: Literal[True], frozen: bool = False, order: bool = False
) -> Callable[[type[_T]], type[_T]]:
    """Make a dataclass with slots; `frozen` and `order` have the standard library's meaning."""
    del slots  # it is always true

    def decorate(given: type[_T]) -> type[_T]:
        cls: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(given)
        fields = dataclasses.fields(cls)
        _add(cls, {"__init__": _first_init(cls), "__repr__": _repr(fields)})
        compared = _values([each.name for each in fields if each.compare])
        names = ("__eq__", *_ORDER) if order else ("__eq__",)
        _add(cls, {name: _comparison(name, compared) for name in names})
        if frozen:
            hashed = [
                each.name for each in fields if (each.compare if each.hash is None else each.hash)
            ]
            _add(cls, {"__hash__": _hash(_values(hashed)), **_FROZEN, **_state_methods(cls)})
        else:
            _add(cls, {"__hash__": None})
        return cls  # type: ignore[no-any-return]

    return decorate


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _dataclass


def _has(cls: type, name: str) -> bool:
    """Whether a class defines a method itself; Python sets no hash for those that define `==`."""
    own = cls.__dict__
    return name in own and not (name == "__hash__" and own[name] is None and "__eq__" in own)


def _add(cls: type, methods: dict[str, Any]) -> None:
    """Add the methods that a class does not define itself."""
    for name, method in methods.items():
        if not _has(cls, name):
            setattr(cls, name, method)


def _values(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function from an object to the values of its fields."""
    if not names:
        return lambda _: ()
    get = operator.attrgetter(*names)
    return get if len(names) > 1 else lambda self: (get(self),)


def _comparison(
    name: str, values: Callable[[Any], tuple[Any, ...]]
) -> Callable[[Any, object], object]:
    compare = getattr(operator, name)

    def method(self: Any, other: object) -> object:  # noqa: ANN401 - a dataclass
        if other.__class__ is not self.__class__:
            return NotImplemented
        return compare(values(self), values(other))

    return method


def _hash(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    return lambda self: hash(values(self))


def _repr(fields: Sequence["Field[Any]"]) -> Callable[[Any], str]:
    shown = [each.name for each in fields if each.repr]

    def method(self: Any) -> str:  # noqa: ANN401 - a dataclass
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({values})"

    return method


def _first_init(cls: type) -> Callable[..., None]:
    """Return an `__init__` that compiles the real one and takes its place."""

    def init(self: object, *values: Any, **named: Any) -> None:  # noqa: ANN401 - as called
        compiled = _compile_init(cls)
        if cls.__dict__["__init__"] is init:
            setattr(cls, "__init__", compiled)  # noqa: B010 - mypy: an instance's would be unsound
        compiled(self, *values, **named)

    return init


def _compile_init(cls: Any) -> Callable[..., None]:  # noqa: ANN401 - a dataclass
    """Compile `__init__` from the fields. Slots are set past `__setattr__`, which may refuse."""
    namespace: dict[str, Any] = {"_MISSING": MISSING}
    positional: list[str] = []
    keyword: list[str] = []
    body: list[str] = []
    for each in dataclasses.fields(cls):
        parameter, value = each.name, each.name
        if each.default is not MISSING:
            namespace[f"default_{each.name}"] = each.default
            parameter = f"{each.name}=default_{each.name}"
        elif each.default_factory is not MISSING:
            namespace[f"default_{each.name}"] = each.default_factory
            parameter = f"{each.name}=_MISSING"
            value = f"default_{each.name}() if {each.name} is _MISSING else {each.name}"
        if each.init:
            (keyword if each.kw_only else positional).append(parameter)
        elif each.default is not MISSING:
            value = f"default_{each.name}"
        elif each.default_factory is not MISSING:
            value = f"default_{each.name}()"
        else:  # `__post_init__` sets it
            continue
        namespace[f"_set_{each.name}"] = getattr(cls, each.name).__set__
        body.append(f" _set_{each.name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    parameters = ", ".join(("self", *positional, *(("*", *keyword) if keyword else ())))
    exec(f"def __init__({parameters}):\n" + "\n".join(body or [" pass"]), namespace)  # noqa: S102 - names of our own fields
    init: Callable[..., None] = namespace["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _refuse_to_set(self: object, name: str, value: object) -> NoReturn:
    del self, value
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> NoReturn:
    del self
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state_methods(cls: Any) -> dict[str, Any]:  # noqa: ANN401 - a dataclass
    """Return the methods for copies and pickles: a fleet sends objects by the million."""
    names = [each.name for each in dataclasses.fields(cls)]
    values = _values(names)
    setters = [getattr(cls, each).__set__ for each in names]

    def state(self: Any) -> list[Any]:  # noqa: ANN401 - a dataclass
        return list(values(self))

    def set_state(self: Any, state: list[Any]) -> None:  # noqa: ANN401 - a dataclass
        for set_value, value in zip(setters, state, strict=True):
            set_value(self, value)

    return {"__getstate__": state, "__setstate__": set_state}


_FROZEN: dict[str, Any] = {
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
}
"""What all frozen classes share."""
