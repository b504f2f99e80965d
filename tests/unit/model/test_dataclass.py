"""kplan's dataclasses behave as those of the standard library."""

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field, fields, replace
from threading import Barrier, Thread

import pytest

from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """A frozen one, with everything."""

    x: int
    y: int = 2
    tags: tuple[str, ...] = field(default_factory=tuple, compare=False)
    secret: str = field(default="", repr=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x")


@dataclass(slots=True)
class Counter:
    """One that changes."""

    names: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Named(Point):
    """A heir with methods of its own."""

    name: str = ""

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


def test_values_are_made_compared_hashed_and_shown() -> None:
    point = Point(1, secret="s")
    assert point == Point(1, 2, ("a",), secret="s")
    assert hash(point) == hash(Point(1, 2, ("a",), secret="s"))
    assert Point(1) != Point(2)
    assert Point(1) < Point(1, 3) <= Point(2)
    assert repr(point) == "Point(x=1, y=2, tags=())"


def test_what_is_wrong_is_refused_as_ever() -> None:
    with pytest.raises(ValueError, match="x"):
        Point(-1)
    with pytest.raises(TypeError, match=r"Point\.__init__\(\) missing 1 required"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(FrozenInstanceError):
        Point(1).x = 3  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del Point(1).x
    with pytest.raises(AttributeError):
        Counter().other = 1  # type: ignore[attr-defined]


def test_the_library_knows_it_for_a_dataclass() -> None:
    assert dataclasses.is_dataclass(Point)
    assert [each.name for each in fields(Point)] == ["x", "y", "tags", "secret"]
    assert replace(Point(1), y=5) == Point(1, 5)
    assert dataclasses.asdict(Point(1))["y"] == 2
    match Point(1, 7):
        case Point(_, y):
            assert y == 7


def test_a_frozen_value_is_copied_and_kept() -> None:
    point = Point(1, tags=("a",))
    assert pickle.loads(pickle.dumps(point)).tags == ("a",)  # noqa: S301 - ours
    assert copy.deepcopy(point) == copy.copy(point) == point


def test_what_a_class_defines_itself_stays() -> None:
    named = Named(1, name="n")
    assert repr(named) == "<n>"
    assert named == Named(2, name="n")
    assert len({named, Named(2, name="n")}) == 1


def test_a_field_may_have_any_name_and_may_be_left_to_the_class() -> None:
    @dataclass(slots=True)
    class Odd:
        set: dict[str, int] = field(default_factory=dict)
        set_default: int = 0
        default: int = field(default=1, init=False)
        later: int = field(init=False)

        def __post_init__(self) -> None:
            self.later = self.default + 1

    assert (Odd({"a": 1}).set, Odd().default, Odd().later) == ({"a": 1}, 1, 2)
    assert Odd(set_default=3).set_default == 3


def test_what_changes_has_no_hash() -> None:
    counter = Counter()
    counter.names.append("a")
    assert counter == Counter(["a"])
    assert Counter.__hash__ is None


def test_threads_may_make_the_first_one_together() -> None:
    made: list[object] = []

    @dataclass(frozen=True, slots=True)
    class Late:
        x: int

    barrier = Barrier(8)

    def make() -> None:
        barrier.wait()
        made.append(Late(1))

    threads = [Thread(target=make) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert made == [Late(1)] * 8


def test_nothing_is_compiled_before_it_is_called() -> None:
    @dataclass(frozen=True, slots=True)
    class Idle:
        x: int

    before = dict(vars(Idle))
    Idle(1)
    assert vars(Idle)["__init__"] is not before["__init__"]
    assert vars(Idle)["__eq__"] is before["__eq__"]
