"""The argv shim: Terraform's ways of typing, as typer reads them."""

import pytest

from kplan.cli.arguments import OptionSpec, environment_arguments, rewrite_arguments, split_at_verb
from kplan.model.errors import UsageError

FLAGS = {
    "--out": OptionSpec(takes_value=True),
    "--var": OptionSpec(takes_value=True),
    "--json": OptionSpec(takes_value=False),
    "--lock": OptionSpec(takes_value=False, opposite="--no-lock"),
    "--no-lock": OptionSpec(takes_value=False, opposite="--lock"),
}


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        (["-out=FILE"], ["--out=FILE"]),
        (["-out", "FILE"], ["--out=FILE"]),
        (["--out", "FILE"], ["--out=FILE"]),
        (["--out=FILE"], ["--out=FILE"]),
        (["-json"], ["--json"]),
        (["--json"], ["--json"]),
        (["-json=true"], ["--json"]),
        (["-json=false"], []),
        (["-lock=false"], ["--no-lock"]),
        (["-no-lock=f"], ["--lock"]),
        (["-lock=T"], ["--lock"]),
        (["-h"], ["-h"]),
        (["plan.kplan", "-"], ["plan.kplan", "-"]),
        (["-unknown=1", "--other"], ["--unknown=1", "--other"]),
        (["-1", "--1"], ["-1", "--1"]),
    ],
)
def test_one_dash_and_two_mean_the_same(typed: list[str], read: list[str]) -> None:
    assert rewrite_arguments(typed, FLAGS) == read


def test_a_value_may_look_like_an_option() -> None:
    assert rewrite_arguments(["-var", "-json", "-var", "--lock=false"], FLAGS) == [
        "--var=-json",
        "--var=--lock=false",
    ]


def test_a_value_keeps_its_own_equals_signs_and_may_be_empty() -> None:
    assert rewrite_arguments(["-var", "a=b=c", "-var=a=b=c", "-out="], FLAGS) == [
        "--var=a=b=c",
        "--var=a=b=c",
        "--out=",
    ]


def test_an_option_without_its_value_is_left_for_typer_to_refuse() -> None:
    assert rewrite_arguments(["-out"], FLAGS) == ["--out"]


def test_nothing_behind_two_dashes_alone_is_touched() -> None:
    assert rewrite_arguments(["-json", "--", "-out", "-json=x"], FLAGS) == [
        "--json",
        "--",
        "-out",
        "-json=x",
    ]


def test_a_switch_is_true_or_false_and_nothing_else() -> None:
    with pytest.raises(UsageError, match="-json must be true or false, not 'maybe'"):
        rewrite_arguments(["-json=maybe"], FLAGS)


GLOBAL = {"--chdir": OptionSpec(takes_value=True), "--no-color": OptionSpec(takes_value=False)}
GROUPS = frozenset({"state"})


@pytest.mark.parametrize(
    ("typed", "before", "path", "rest"),
    [
        (["plan", "-json"], [], ("plan",), ["-json"]),
        (["-chdir=a", "plan"], ["-chdir=a"], ("plan",), []),
        (["-chdir", "plan", "apply"], ["-chdir", "plan"], ("apply",), []),
        (["-no-color", "plan", "x"], ["-no-color"], ("plan",), ["x"]),
        (["state", "list", "-id=x"], [], ("state", "list"), ["-id=x"]),
        (["state", "-json", "list"], [], ("state", "list"), ["-json"]),
        (["state", "-help"], [], ("state",), ["-help"]),
        (["state"], [], ("state",), []),
        (["-help"], ["-help"], (), []),
        (["--", "plan"], [], (), ["--", "plan"]),
        ([], [], (), []),
    ],
)
def test_the_verb_is_the_first_word_that_is_no_options_value(
    typed: list[str], before: list[str], path: tuple[str, ...], rest: list[str]
) -> None:
    assert split_at_verb(typed, GLOBAL, GROUPS) == (before, path, rest)


def test_the_environment_adds_arguments_for_every_verb_and_for_one() -> None:
    environ = {
        "KPLAN_CLI_ARGS": "-no-color",
        "KPLAN_CLI_ARGS_state_list": "-state 'my state.json'",
        "KPLAN_CLI_ARGS_force_unlock": "-force",
    }
    assert environment_arguments(environ, ("state", "list")) == [
        "-no-color",
        "-state",
        "my state.json",
    ]
    assert environment_arguments(environ, ("force-unlock",)) == ["-no-color", "-force"]
    assert environment_arguments({}, ("plan",)) == []


def test_an_open_quotation_in_the_environment_names_the_variable() -> None:
    with pytest.raises(UsageError, match="KPLAN_CLI_ARGS_plan has an unclosed quotation mark"):
        environment_arguments({"KPLAN_CLI_ARGS_plan": "-var 'a=b"}, ("plan",))
