"""`import kplan`: its names, and what loading them costs."""

import subprocess
import sys
from inspect import isfunction
from types import ModuleType

import pytest

import kplan
import kplan.admin
import kplan.testing


def in_a_fresh_process(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_every_public_name_is_there_and_documented() -> None:
    missing = [name for name in kplan.__all__ if not hasattr(kplan, name)]
    assert missing == []
    plain = {"__version__", "Identity"}  # a text, and a kind of text
    undocumented = [
        name for name in kplan.__all__ if name not in plain and not getattr(kplan, name).__doc__
    ]
    assert undocumented == []
    assert set(kplan.__all__) <= set(dir(kplan))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'destroy'"):
        _ = kplan.destroy  # type: ignore[attr-defined]


def test_importing_loads_no_other_module_of_kplan() -> None:
    found = in_a_fresh_process("import sys, kplan; print([m for m in sys.modules if 'kplan' in m])")
    assert found == "['kplan']"


def test_a_package_of_the_same_name_does_not_replace_a_function() -> None:
    """The import system sets `kplan.plan` to the package when that is first imported."""
    code = (
        "import kplan.plan.build, kplan.apply.apply, kplan\n"
        "print(callable(kplan.plan), callable(kplan.apply))\n"
        "from kplan.plan import diff\n"
        "print(diff.__name__)"
    )
    assert in_a_fresh_process(code) == "True True\nkplan.plan.diff"
    assert isfunction(kplan.plan)
    assert isfunction(kplan.apply)


def test_using_the_library_loads_no_command_line() -> None:
    code = (
        "import sys, kplan; kplan.apply, kplan.drift, kplan.import_; print('typer' in sys.modules)"
    )
    assert in_a_fresh_process(code) == "False"


@pytest.mark.parametrize("module", [kplan, kplan.admin, kplan.testing])
def test_every_public_module_lists_its_names_in_order(module: ModuleType) -> None:
    assert list(module.__all__) == sorted(module.__all__, key=_ruff_order)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    assert module.__doc__


def _ruff_order(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)
