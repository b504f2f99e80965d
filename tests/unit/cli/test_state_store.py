"""Where the command line finds the state: what the block says, and what is typed."""

from pathlib import Path

import pytest

from kplan.cli import wiring
from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.signals import Signals
from kplan.cli.terminal import Session, Terminal
from kplan.model.errors import ConfigError
from kplan.workflow.ports import Project

BLOCK = 'provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }\nstate {\n  backend = "kafka"\n'
KEPT = 'the topic __kplan_state (key "shop")'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def project(text: str, states: StateOptions | None = None, *var: str, **environ: str) -> Project:
    Path("main.tf").write_text(text)
    args = tuple(f"--var={each}" for each in var)
    session = Session(environ, Terminal({}), Signals(), args)
    return wiring.build_project(session, states or StateOptions(), InputOptions())


def test_without_a_block_the_state_is_in_the_file() -> None:
    assert project('provider "kafka" {}\n').store.location == "state/kplan.json"
    assert project("", KPLAN_STATE="other.json").store.location == "other.json"


def test_with_a_block_it_is_where_that_says_and_the_same_for_the_whole_run() -> None:
    found = project(BLOCK + '  key = "shop"\n}\n', KPLAN_STATE="other.json")
    assert found.store.location == KEPT
    assert found.store is found.store
    assert found.file_store.location == "other.json"


def test_a_file_that_is_named_on_the_command_line_is_meant() -> None:
    """So that a copy can be looked at: kplan state list -state copy.json."""
    found = project(BLOCK + '  key = "shop"\n}\n', StateOptions(state="copy.json"))
    assert found.store.location == "copy.json"


def test_variables_that_are_typed_count() -> None:
    text = 'variable "team" {}\n' + BLOCK + "  key = var.team\n}\n"
    assert project(text, None, "team=shop").store.location == KEPT
    with pytest.raises(ConfigError) as told:
        _ = project(text).store
    assert [each.code for each in told.value.diagnostics] == ["KP170"]


def test_a_mistake_is_told_with_all_others_and_only_when_the_state_is_needed() -> None:
    found = project(BLOCK + '  key = "a/b"\n}\nlocals { x = 1 + "a" }\n')
    with pytest.raises(ConfigError) as told:
        _ = found.store
    assert [each.code for each in told.value.diagnostics] == ["KP135", "KP150"]
    assert told.value.sources.keys() == {"main.tf"}


def test_a_connection_that_cannot_be_made_out_is_told_at_its_line() -> None:
    found = project(BLOCK.replace("127.0.0.1:1", "here") + '  key = "shop"\n}\n')
    with pytest.raises(ConfigError) as told:
        _ = found.store
    (only,) = told.value.diagnostics
    assert (only.code, str(only.subject)[:9]) == ("KP302", "main.tf:1")
    assert told.value.sources.keys() == {"main.tf"}
