"""One run of the command, in this process: what is told, where, and with which exit code."""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import pytest
import typer

from kplan.cli import app
from kplan.cli.exit_code import ExitCode
from kplan.cli.run import command_line, run
from kplan.cli.signals import SignalInterrupt
from kplan.cli.terminal import Session
from kplan.cli.verb import Verb
from kplan.model.errors import PolicyDeniedError
from kplan.model.version import VERSION
from kplan.state.plan_file import plan_metadata, write_plan
from tests.unit.state.state_builders import plan

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[BaseException]]:
    """Let every verb raise what the list holds."""
    raised: list[BaseException] = []

    def failing(
        session: Session,
        *,
        detailed_exitcode: Annotated[bool, typer.Option("--detailed-exitcode")] = False,
    ) -> int:
        """Fail."""
        del session, detailed_exitcode
        raise raised.pop()

    monkeypatch.setattr(app, "load_verb", lambda _: Verb(failing, ()))
    yield raised
    assert not raised


def test_a_verb_is_carried_out_and_its_data_goes_to_stdout(capsys: Capture) -> None:
    assert run(["version", "-json"], {}) == ExitCode.DONE
    out, err = capsys.readouterr()
    assert json.loads(out)["kplan_version"] == VERSION
    assert err == ""


@pytest.mark.parametrize("typed", [["-version"], ["--version"], ["-no-color", "-version"]])
def test_the_version_is_one_line(typed: list[str], capsys: Capture) -> None:
    assert run(typed, {}) == ExitCode.DONE
    assert capsys.readouterr().out == f"kplan {VERSION}\n"


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["plann"], 'kplan has no command "plann". Did you mean kplan plan?'),
        (["state", "lst"], 'kplan state has no command "lst". Did you mean kplan state list?'),
        (["state", "lst"], "hint: Run kplan state -help for all commands."),
        (["version", "-jsn"], "kplan version has no option -jsn. Did you mean -json?"),
        (["version", "-json=perhaps"], "-json must be true or false, not 'perhaps'."),
        (["version", "surplus"], "unexpected extra argument"),
        (["-chdir=missing", "version"], "-chdir=missing: No such file or directory."),
    ],
)
def test_a_wrong_command_line_is_one_clear_error_and_exit_1(
    typed: list[str], told: str, capsys: Capture
) -> None:
    """Exit 2 means changes, so a usage error is never 2."""
    assert run(typed, {}) == ExitCode.ERROR
    out, err = capsys.readouterr()
    assert out == ""
    assert "Error: Invalid command line [KP901]" in err
    assert told in err


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        (["taint", "kafka_topic.t"], "Run kplan plan -replace=ADDRESS."),
        (["untaint", "kafka_topic.t"], "Run kplan plan without -replace."),
        (["refresh"], "Run kplan drift"),
        (["providers"], "Run kplan schema"),
        (["metadata", "functions"], "Run kplan console to try one."),
        (["login"], "Run kplan help environment"),
        (["plan", "-refresh-only"], "Run kplan drift"),
        (["apply", "-refresh-only=true"], "Run kplan drift"),
        (["plan", "-generate-config-out=x.tf"], "Run kplan import -all -generate-config=FILE"),
        (["plan", "-exclude=kafka_topic.t"], "Name the resources with -target=ADDRESS."),
        (["plan", "-backup=x"], "Run kplan state history"),
        (["apply", "-state-out=x"], "Name its file with -state=FILE."),
        (["state", "mv", "-backup=x", "a", "b"], "Run kplan state history"),
        (["state", "replace-provider", "a", "b"], "Nothing is to be done."),
        (["init", "-backend-config=x"], "Write them in the state block"),
        (["init", "-migrate-state"], "Run kplan state migrate -help."),
        (["validate", "-no-tests"], "Run kplan validate; kplan test runs the tests."),
        (["graph", "-type=plan"], "Run kplan graph; kplan plan shows the changes in their order."),
        (["graph", "-plan=x"], "Run kplan plan -out=FILE and kplan show FILE"),
        (["console", "-plan"], "Run kplan plan -out=FILE and kplan show FILE"),
        (["plan", "-chdir=."], "Run kplan -chdir=DIR plan."),
    ],
)
def test_a_command_of_terraform_that_kplan_lacks_is_answered_with_a_replacement(
    typed: list[str], hint: str, capsys: Capture
) -> None:
    assert run(typed, {}) == ExitCode.ERROR
    err = " ".join(capsys.readouterr().err.replace("│", "").split())
    assert re.search(r"Invalid command line \[KP901\] kplan [a-z ]*has no", err)
    assert hint in err.partition("hint:")[2]


def test_a_surplus_word_is_answered_with_how_it_is_given(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Terraform once took a folder, and plan files are applied."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "team a").mkdir()
    write_plan(tmp_path / "p.kplan", plan(), plan_metadata(plan(), expires_at="", nonce="1"))
    for name in ("orders.tf", "a.tfvars", "notes.kplan"):
        (tmp_path / name).write_text("")
    other = "hint: kplan plan takes no arguments: kplan -chdir=DIR plan plans another folder, and"
    for typed, told in (
        (["plan", "team a"], "hint: To work in another folder: kplan '-chdir=team a' plan"),
        (["validate", "team a"], "hint: To work in another folder: kplan '-chdir=team a' validate"),
        (["plan", "p.kplan"], "hint: To apply a saved plan: kplan apply p.kplan"),
        (["plan", "other"], "kplan plan has an unexpected extra argument: other."),
        (["plan", "other"], other),
        (["plan", "orders.tf", "notes.kplan"], other),
        (["plan", "notes.kplan"], other),
        (["plan", "a.tfvars"], "from a file: kplan plan -var-file=a.tfvars"),
        (["validate", "a.tfvars"], "from a file: kplan validate -var-file=a.tfvars"),
        (["version", "a.tfvars"], "hint: Run kplan version -help for all options."),
    ):
        assert run(typed, {}) == ExitCode.ERROR
        assert told in " ".join(capsys.readouterr().err.replace("│", "").split())


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["help", "plann"], "Did you mean kplan help plan?"),
        (["help", "migrate"], "Did you mean kplan help migrating?"),
    ],
)
def test_a_mistyped_topic_is_answered_with_the_one_meant(
    typed: list[str], told: str, capsys: Capture
) -> None:
    assert run(typed, {}) == ExitCode.ERROR
    assert told in capsys.readouterr().err


def test_a_code_is_explained_by_its_number(capsys: Capture) -> None:
    assert run(["explain", "241"], {}) == ExitCode.DONE
    assert capsys.readouterr().out.startswith("KP241 ")


def test_the_help_says_that_refresh_false_is_refused(capsys: Capture) -> None:
    assert run(["plan", "-help"], {}) == ExitCode.DONE
    shown = " ".join(capsys.readouterr().out.split())
    assert "every plan reads the cluster. -refresh=false is refused." in shown
    assert run(["plan", "-refresh=false"], {}) == ExitCode.ERROR
    assert "cannot plan without reading the cluster" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["plan", "-targt=x"], "Did you mean -target?"),
        (["plan", "--autoapprove"], "kplan plan has no option -autoapprove."),
        (["-chdr=x", "plan"], "Did you mean -chdir?"),
        (["plan", "-parallelism=x"], "Invalid value for '-parallelism'"),
    ],
)
def test_a_mistyped_option_is_answered_with_one_dash(
    typed: list[str], meant: str, capsys: Capture
) -> None:
    assert run(typed, {}) == ExitCode.ERROR
    err = capsys.readouterr().err
    assert meant in err
    assert "--" not in err


@pytest.mark.parametrize("verb", ["plan", "apply", "validate"])
def test_a_folder_without_files_points_to_init(
    verb: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([verb, "-input=false", *(["-auto-approve"] * (verb == "apply"))], {}) == 1
    assert "hint: Run kplan init" in capsys.readouterr().err


@pytest.mark.parametrize("typed", [[], ["state"], ["-no-color"]])
def test_no_verb_at_all_is_answered_with_help_but_not_with_success(
    typed: list[str], capsys: Capture
) -> None:
    assert run(typed, {}) == ExitCode.ERROR
    assert capsys.readouterr().out.startswith("Usage: kplan")


@pytest.mark.parametrize(
    "typed", [["-help"], ["--help"], ["-h"], ["state", "-help"], ["plan", "-h"]]
)
def test_help_that_was_asked_for_is_a_success(typed: list[str], capsys: Capture) -> None:
    assert run(typed, {}) == ExitCode.DONE
    assert capsys.readouterr().out.startswith("Usage: kplan")


def test_a_failure_tells_its_reason_in_the_exit_code_only_on_request(
    fails: list[BaseException], capsys: Capture
) -> None:
    fails += [PolicyDeniedError("Too many deletes.", hint="Ask."), PolicyDeniedError()]
    assert run(["plan"], {}) == ExitCode.ERROR
    assert "Error: The plan was refused [KP940]" in capsys.readouterr().err
    assert run(["plan"], {"KPLAN_CLI_ARGS": "-detailed-exitcode"}) == ExitCode.REFUSED


def test_a_signal_is_told_by_the_exit_code(fails: list[BaseException], capsys: Capture) -> None:
    fails += [SignalInterrupt(15)]
    assert run(["plan"], {}) == 143
    assert capsys.readouterr() == ("", "Interrupted.\n")


def test_an_unforeseen_exception_is_told_as_a_defect_without_a_traceback(
    fails: list[BaseException], capsys: Capture, tmp_path: Path
) -> None:
    fails += [ZeroDivisionError("the secret is hunter2")]
    assert run(["plan"], {}) == ExitCode.ERROR
    err = capsys.readouterr().err
    assert "Error: Internal error in kplan" in err
    assert "Traceback" not in err
    assert "hunter2" not in err
    (file,) = tmp_path.glob("kplan-crash-*.txt")
    assert str(file) in err
    assert file.stat().st_mode & 0o777 == 0o600
    assert "ZeroDivisionError" in file.read_text(encoding="utf-8")


def test_what_the_operating_system_refuses_is_told_as_that_and_not_as_a_defect(
    fails: list[BaseException], capsys: Capture
) -> None:
    fails += [PermissionError(13, "Permission denied", "/cache")]
    assert run(["plan"], {}) == ExitCode.ERROR
    err = capsys.readouterr().err
    assert "Permission denied (/cache)." in err
    assert "defect" not in err


def test_a_defect_is_told_even_where_nothing_can_be_written(
    fails: list[BaseException], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere/at/all")
    fails += [ZeroDivisionError()]
    assert run(["plan"], {}) == ExitCode.ERROR
    assert "The traceback could not be written" in capsys.readouterr().err


def test_an_unknown_variable_is_a_warning_and_no_more(capsys: Capture) -> None:
    assert run(["version", "-json"], {"KPLAN_PARALELISM": "4"}) == ExitCode.DONE
    out, err = capsys.readouterr()
    assert err.count("Warning:") == 1
    assert "Did you mean KPLAN_PARALLELISM?" in err
    json.loads(out)


@pytest.mark.parametrize(
    ("typed", "environ", "read"),
    [
        (["version", "-json"], {}, ("version", "--json")),
        (["version"], {"KPLAN_CLI_ARGS_version": "-json"}, ("version", "--json")),
        (
            ["-chdir", "a", "version", "--", "-x"],
            {"KPLAN_CLI_ARGS": "-no-color"},
            ("--chdir=a", "version", "--no-color", "--", "-x"),
        ),
    ],
)
def test_what_is_typed_and_what_the_environment_adds_become_one_command_line(
    typed: list[str], environ: Mapping[str, str], read: tuple[str, ...]
) -> None:
    assert command_line(typed, environ).args == read
