"""Completion in bash, zsh and fish as they run on a terminal."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.cli.shell.interactive import InteractiveShell

CONFIGURATION = """
variable "team" { default = "shop" }
resource "kafka_topic" "orders" {
  for_each           = toset(["eu", "us"])
  name               = "shop.orders.${each.key}"
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
"""
COMPLETED = [
    ("kplan workspace sel", ["workspace", "select"]),
    ("kplan plan -ou", ["plan", "-out="]),
    ("kplan plan -target=kafka_a", ["plan", "-target=kafka_acl.checkout"]),
    ("kplan plan '-target=kafka_topic.orders[\"u", ["plan", '-target=kafka_topic.orders["us"]']),
    ("kplan plan -as=User:ch", ["plan", "-as=User:checkout"]),
    ("kplan topics describe shop.orders.u", ["topics", "describe", "shop.orders.us"]),
    ("kplan explain TOPIC_ALR", ["explain", "TOPIC_ALREADY_EXISTS"]),
    ("kplan help tut", ["help", "tutorial"]),
    ("kplan plan -out=rel", ["plan", "-out=releases/"]),
]


def needs(shell: str) -> str:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    return program


def environment(folder: Path) -> dict[str, str]:
    programs = Path(sys.executable).parent
    return {
        "HOME": str(folder),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "TERM": "dumb",
        "PS1": "> ",
        "LC_ALL": "C.UTF-8",
        "HISTFILE": "/dev/null",
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "main.tf").write_text(CONFIGURATION, encoding="utf-8")
    (tmp_path / "releases").mkdir()
    return tmp_path


@pytest.fixture
def shell(request: pytest.FixtureRequest, folder: Path) -> Iterator[InteractiveShell]:
    command = [needs(request.param[0]), *request.param[1:]]
    found = InteractiveShell(command, folder, environment(folder))
    yield found
    found.close()


@pytest.mark.parametrize("shell", [("bash", "--norc", "--noprofile")], indirect=True)
def test_bash_completes_commands_options_and_names(shell: InteractiveShell) -> None:
    shell.run('eval "$(kplan completion bash)"; bind "set enable-bracketed-paste off"')
    assert [shell.complete(typed) for typed, _ in COMPLETED] == [words for _, words in COMPLETED]


@pytest.mark.parametrize("shell", [("zsh", "-f")], indirect=True)
def test_zsh_completes_commands_options_and_names(shell: InteractiveShell) -> None:
    shell.run('autoload -Uz compinit; compinit -D -u; eval "$(kplan completion zsh)"; bindkey -e')
    assert [shell.complete(typed) for typed, _ in COMPLETED] == [words for _, words in COMPLETED]


def test_fish_completes_commands_options_and_names(folder: Path) -> None:
    """Fish can be asked; the words that it inserts it quotes itself."""
    fish = needs("fish")
    asked = "\n".join(f"complete -C {quoted(typed)}; echo ---" for typed, _ in COMPLETED)
    script = f"kplan completion fish | source\n{asked}\n"
    ran = subprocess.run(
        [fish, "--no-config", "-c", script],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=True,
    )
    found = [
        [line.partition("\t")[0] for line in answer.strip().splitlines()]
        for answer in ran.stdout.split("---\n")[:-1]
    ]
    assert found == [words[-1:] for _, words in COMPLETED]


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def test_an_installed_script_is_loaded_once_by_a_new_bash(folder: Path) -> None:
    bash, environ = needs("bash"), environment(folder)
    for _ in range(2):
        subprocess.run(
            ["kplan", "completion", "bash", "-install"], env=environ, check=True, cwd=folder
        )
    assert (folder / ".bashrc").read_text() == "source ~/.bash_completions/kplan.sh\n"
    script = [bash, "--rcfile", str(folder / ".bashrc"), "-ic", "complete -p kplan"]
    ran = subprocess.run(
        script, env=environ, cwd=folder, capture_output=True, text=True, check=True
    )
    assert "-F _kplan_completion kplan" in ran.stdout
