"""Completion of a line: the words that may follow, and how each shell reads them."""

from pathlib import Path

import pytest

from kplan.cli.app import VERBS
from kplan.cli.exit_code import ExitCode
from kplan.cli.run import run
from kplan.cli.shell.completion import complete_words
from kplan.cli.shell.line import bash_reply, read_line
from kplan.cli.shell.scripts import SCRIPTS
from kplan.cli.signals import Signals
from kplan.cli.terminal import Session, Terminal
from tests.unit.cli.memory_command import memory_command

CONFIGURATION = """
variable "team" { default = "shop" }
provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
provider "kafka" {
  alias             = "west"
  bootstrap_servers = ["127.0.0.1:2"]
}
resource "kafka_topic" "orders" {
  for_each           = toset(["eu", "us"])
  name               = "${var.team}.orders.${each.key}"
  partitions         = 1
  replication_factor = 1
}
resource "kafka_acl" "checkout" {
  resource_type       = "Topic"
  resource_name       = "shop.orders.eu"
  acl_principal       = "User:checkout"
  acl_host            = "*"
  acl_operation       = "Write"
  acl_permission_type = "Allow"
}
output "names" { value = [for each in kafka_topic.orders : each.name] }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "main.tf").write_text(CONFIGURATION, encoding="utf-8")
    (tmp_path / "releases").mkdir()
    (tmp_path / "old.plan").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def offered(line: str) -> list[str]:
    environ: dict[str, str] = {}
    session = Session(environ, Terminal(environ), Signals())
    read = read_line(line)
    return [each.value for each in complete_words(read.words[1:], read.last, session)]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("kplan sta", ["state"]),
        ("kplan state l", ["list"]),
        ("kplan -chdir=x state l", ["list"]),
        ("kplan plan -o", ["-out=", "-override="]),
        ("kplan plan --o", ["--out=", "--override="]),
        ("kplan plan -out x.plan -refr", ["-refresh"]),
        ("kplan plan -out=x -o", ["-override="]),
        ("kplan plan -lock=f", ["-lock=false"]),
        ("kplan plan -no-l", ["-no-lock"]),
        ("kplan graph -format=", ["-format=dot", "-format=mermaid"]),
        ("kplan graph -format d", ["dot"]),
        ("kplan plan -report=ht", ["-report=html="]),
        ("kplan plan -report=html=ol", ["-report=html=old.plan"]),
        ("kplan plan -accept=KP44", ["-accept=KP441", "-accept=KP442", "-accept=KP443"]),
        ("kplan explain kp2102", ["KP2102"]),
        ("kplan explain KP2102 KP2102", []),
        ("kplan errors explain TOPIC_ALR", ["TOPIC_ALREADY_EXISTS"]),
        ("kplan help tut", ["tutorial"]),
        ("kplan apply ol", ["old.plan"]),
        ("kplan -chdir=re", ["-chdir=releases/"]),
        ("kplan -chdir re", ["releases/"]),
        ("kplan access who-can Desc", ["Describe", "DescribeConfigs", "DescribeTokens"]),
        ("kplan show -only=bl", ["-only=blast"]),
        ("kplan nonsense ", []),
        ("kplan plan -nonsense=", []),
        ("kplan plan -json=perhaps -o", []),
    ],
)
@pytest.mark.usefixtures("folder")
def test_commands_options_and_fixed_values_are_offered(line: str, found: list[str]) -> None:
    assert offered(line) == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("kplan plan -target=kafka_a", ["-target=kafka_acl.checkout"]),
        ("kplan plan -target kafka_a", ["kafka_acl.checkout"]),
        ("kplan plan -replace=", ["kafka_acl.checkout", 'kafka_topic.orders["eu"]']),
        ("kplan state show kafka_a", ["kafka_acl.checkout"]),
        ("kplan import kafka_a", ["kafka_acl.checkout"]),
        ("kplan import 'kafka_topic.orders[\"us\"]' ", ["shop.orders.us"]),
        ("kplan topics describe shop.", ["shop.orders.eu", "shop.orders.us"]),
        ("kplan topics describe shop.orders.eu shop.", ["shop.orders.us"]),
        ("kplan records delete -provider=west shop.orders.u", ["shop.orders.us"]),
        ("kplan plan -var=te", ["-var=team="]),
        ("kplan -chdir=. plan -var=te", ["-var=team="]),
        ("kplan plan -var=team=pay -as=", ["-as=User:checkout"]),
        ("kplan output ", ["names"]),
        ("kplan topics list -provider=", ["-provider=west"]),
    ],
)
@pytest.mark.usefixtures("folder")
def test_names_of_the_configuration_are_offered(line: str, found: list[str]) -> None:
    assert [each.removeprefix("-replace=") for each in offered(line)][: len(found)] == found


@pytest.mark.usefixtures("folder")
def test_variables_that_are_typed_count() -> None:
    assert offered("kplan import -var=team=pay 'kafka_topic.orders[\"us\"]' ") == ["pay.orders.us"]


def test_names_of_the_state_are_offered_where_the_files_have_them_no_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = memory_command(tmp_path, capsys, monkeypatch)
    main = tmp_path / "main.tf"
    main.write_text(TOPIC, encoding="utf-8")
    desk.run("apply", "-auto-approve")
    main.write_text("locals {}\n", encoding="utf-8")
    assert offered("kplan state show ") == ["kafka_topic.orders"]
    assert offered("kplan plan -target=") == ["-target=kafka_topic.orders"]
    assert offered("kplan topics describe ") == ["orders"]


TOPIC = """
resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 1
  replication_factor = 1
}
"""


def test_files_with_mistakes_and_no_files_offer_what_is_known(folder: Path) -> None:
    (folder / "main.tf").write_text('resource "kafka_topic" {', encoding="utf-8")
    assert offered("kplan plan -target=") == []
    (folder / "main.tf").unlink()
    assert offered("kplan plan -target=") == []
    assert offered("kplan plan -ou") == ["-out="]


def test_every_option_of_every_verb_is_offered_in_one_dash() -> None:
    for verb in VERBS:
        found = offered(f"kplan {verb} -")
        assert "-help" in found, verb
        assert all(each.startswith("-") and not each.startswith("--") for each in found), verb


@pytest.mark.parametrize(
    ("typed", "inserted"),
    [
        ("kplan plan -target=kafka_t", 'kafka_topic.orders\\[\\"us\\"\\]'),
        ("kplan plan -target='kafka_t", 'kafka_topic.orders["us"]'),
        ('kplan plan -target="kafka_t', 'kafka_topic.orders[\\"us\\"]'),
        ("kplan plan '-target=k", '-target=kafka_topic.orders["us"]'),
        ("kplan plan -t", '-target=kafka_topic.orders\\[\\"us\\"\\]'),
    ],
)
def test_bash_inserts_what_follows_its_word_break_quoted_as_the_line_is(
    typed: str, inserted: str
) -> None:
    assert bash_reply(read_line(typed), '-target=kafka_topic.orders["us"]') == inserted


def test_a_line_ends_at_the_cursor_and_begins_behind_a_pipe() -> None:
    read = read_line(r"true | kplan state\ x 'a b'\''c' -x=")
    assert read.words == ("kplan", "state x", "a b'c")
    assert (read.last, read.start) == ("-x=", 3)
    assert read_line("kplan ").last == ""


@pytest.mark.usefixtures("folder")
def test_a_shell_reads_candidates_and_what_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["kplan plan -target=kafka_topic"]
    assert run(line, {"_KPLAN_COMPLETE": "fish"}) == ExitCode.DONE
    said = capsys.readouterr()
    assert said.out.splitlines()[0] == '-target=kafka_topic.orders["eu"]\tshop.orders.eu'
    assert said.err == ""


def test_a_script_is_written_for_each_shell(capsys: pytest.CaptureFixture[str]) -> None:
    for shell, script in SCRIPTS.items():
        assert run(["completion", shell], {}) == ExitCode.DONE
        assert capsys.readouterr().out == script
    assert run(["completion"], {"SHELL": "/usr/bin/zsh"}) == ExitCode.DONE
    assert capsys.readouterr().out.startswith("#compdef kplan\n")
    assert run(["completion", "tcsh"], {}) == ExitCode.ERROR
    assert "There is no completion for the shell 'tcsh'." in capsys.readouterr().err


def test_an_installed_script_keeps_what_a_startup_file_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environ = {"HOME": str(tmp_path), "SHELL": "/bin/zsh"}
    (tmp_path / ".zshrc").write_text("alias k=kplan", encoding="utf-8")
    for _ in range(2):
        assert run(["completion", "-install"], environ) == ExitCode.DONE
    started = (tmp_path / ".zshrc").read_text(encoding="utf-8")
    assert started.splitlines() == [
        "alias k=kplan",
        "fpath+=~/.zfunc; autoload -Uz compinit; compinit",
    ]
    assert (tmp_path / ".zfunc" / "_kplan").read_text(encoding="utf-8") == SCRIPTS["zsh"]
    assert run(["completion", "powershell", "-install"], environ) == ExitCode.ERROR
    assert "kplan completion powershell" in capsys.readouterr().err
