"""Configurations kept as they were evaluated: the same as evaluated anew, or not kept at all."""

import os
import pickle
from dataclasses import fields
from pathlib import Path

import pytest

from kplan.config import kept, load
from kplan.config.inputs import Text
from kplan.config.load import Configuration, Inputs
from kplan.kinds import KINDS
from tests.unit.config.folders import loaded

CONFIGURATIONS = Path(__file__).parent / "fixtures" / "configurations"
EXAMPLES = Path(__file__).parents[3] / "examples"
MAIN = """
variable "prefix" { default = "p" }
locals {
  sizes = jsondecode(file("${path.module}/sizes.json"))
}
module "more" {
  source = "./more"
  name   = "${var.prefix}-more"
}
provider "kafka" { bootstrap_servers = ["127.0.0.1:9092"] }
resource "kafka_topic" "t" {
  for_each   = local.sizes
  name       = "${var.prefix}-${each.key}"
  partitions = each.value
  config     = { "retention.ms" = 1000 }
  lifecycle { ignore_changes = [config["retention.ms"]] }
}
resource "kafka_topic" "one" {
  name       = "ü.${var.prefix}"
  partitions = 1
}
output "names" { value = values(kafka_topic.t)[*].name }
moved {
  from = kafka_topic.old
  to   = kafka_topic.one
}
"""
FILES = {
    "main.tf": MAIN.replace("ü", "u"),
    "sizes.json": '{"a": 1, "b": 2}',
    "more/main.tf": """
variable "name" {}
resource "kafka_topic" "m" {
  count      = 2
  name       = "${var.name}-${count.index}"
  partitions = 1
}
""",
}
BARE = 'resource "kafka_topic" "a" {\n  name = "a"\n  partitions = 1\n}\n'


@pytest.fixture(autouse=True)
def _small_ones_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "LEAST", 0)


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Gather one entry for each configuration that is evaluated, not taken from the cache."""
    asked: list[int] = []
    configured = load.configured

    def noted(*given: object) -> Configuration:
        asked.append(1)
        return configured(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(load, "configured", noted)
    return asked


def inputs(folder: Path, *variables: Text | Path, **environ: str) -> Inputs:
    return Inputs(variables, environ={"XDG_CACHE_HOME": str(folder / "cache"), **environ})


def files(folder: Path) -> list[Path]:
    return sorted((folder / "cache" / "kplan").glob("*.evaluated"))


def same(one: Configuration, other: Configuration) -> None:
    for each in fields(Configuration):
        assert getattr(one, each.name) == getattr(other, each.name), each.name
    assert [dict(each.ranges) for each in one.resources] == [
        dict(each.ranges) for each in other.resources
    ]


def test_what_is_kept_is_as_it_was_evaluated(tmp_path: Path, evaluated: list[int]) -> None:
    project = tmp_path / "project"
    first = loaded(project, FILES, inputs(tmp_path))
    second = loaded(project, {}, inputs(tmp_path))
    assert len(evaluated) == 1
    assert not first.diagnostics
    assert len(first.resources) == 5
    same(first, second)
    same(second, load.load(project, Inputs(), KINDS))


@pytest.mark.parametrize(
    "folder",
    [
        *sorted(CONFIGURATIONS.iterdir()),
        *sorted(each.parent for each in EXAMPLES.glob("*/main.tf")),
    ],
    ids=lambda each: each.name,
)
def test_every_sample_is_the_same_from_the_cache(folder: Path, tmp_path: Path) -> None:
    wanted = load.load(folder, Inputs(), KINDS)
    for _ in range(2):
        found = load.load(folder, inputs(tmp_path), KINDS)
        assert found.diagnostics == wanted.diagnostics
        assert found.outputs == wanted.outputs
        assert found.resources == wanted.resources
        assert (found.digest, found.sources) == (wanted.digest, wanted.sources)


@pytest.mark.parametrize(
    "changed",
    [
        {"main.tf": FILES["main.tf"].replace("= 1000", "= 2000")},
        {"main.tf": "\n" + FILES["main.tf"]},
        {"sizes.json": '{"a": 1, "b": 3}'},
        {"more/main.tf": FILES["more/main.tf"].replace("= 2", "= 3")},
        {"more/other.tf": BARE},
        {"z.tf": BARE},
        {"terraform.tfvars": 'prefix = "q"\n'},
        {"x.auto.tfvars": 'prefix = "q"\n'},
    ],
)
def test_any_change_is_seen(changed: dict[str, str], tmp_path: Path, evaluated: list[int]) -> None:
    project = tmp_path / "project"
    loaded(project, FILES, inputs(tmp_path))
    found = loaded(project, changed, inputs(tmp_path))
    assert len(evaluated) == 2
    same(found, load.load(project, Inputs(), KINDS))


def test_other_values_of_variables_are_seen(tmp_path: Path, evaluated: list[int]) -> None:
    project = tmp_path / "project"
    loaded(project, FILES, inputs(tmp_path))
    given = tmp_path / "given.tfvars"
    given.write_text('prefix = "f"\n')
    option = Text("prefix", "o", "-var prefix")
    seen = [
        loaded(project, {}, each).resources[0].identity
        for each in (
            inputs(tmp_path, KPLAN_VAR_prefix="e"),
            inputs(tmp_path, option),
            inputs(tmp_path, given),
        )
    ]
    assert seen == ["u.e", "u.o", "u.f"]
    given.write_text('prefix = "g"\n')
    assert loaded(project, {}, inputs(tmp_path, given)).resources[0].identity == "u.g"
    assert len(evaluated) == 5
    assert loaded(project, {}, inputs(tmp_path, option)).resources[0].identity == "u.o"
    assert len(evaluated) == 5


POLICY = """
policy "p" {
  on = ["create"]
  deny {
    condition = true
    message   = "no"
  }
}
"""
SECRET = "hunter2"


@pytest.mark.parametrize(
    "text",
    [
        f'variable "x" {{\n  default   = "{SECRET}"\n  sensitive = true\n}}\n',
        f'provider "kafka" {{\n  bootstrap_servers = ["a:1"]\n  sasl_password = "{SECRET}"\n}}\n',
        f'output "x" {{\n  value     = "{SECRET}"\n  sensitive = true\n}}\n',
        f'variable "x" {{\n  default   = "{SECRET}"\n  ephemeral = true\n}}\n',
        BARE.replace(
            "= 1", f'= 1\n  config = {{ "retention.ms" = sensitive("{SECRET}") }}'
        ).replace('"a"', '"b"'),
    ],
)
def test_a_secret_is_never_kept(text: str, tmp_path: Path) -> None:
    loaded(tmp_path / "project", {"main.tf": BARE + text}, inputs(tmp_path))
    assert files(tmp_path) == []


def test_what_is_kept_is_for_the_user_alone(tmp_path: Path) -> None:
    loaded(tmp_path / "project", FILES, inputs(tmp_path))
    (file,) = files(tmp_path)
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "more",
    [
        'locals {\n  x = fileexists("later.txt")\n}\n',
        'locals {\n  x = fileset(".", "*.txt")\n}\n',
        'locals {\n  x = try(file("later.txt"), "")\n}\n',
        POLICY,
        "locals {\n  x = oops\n}\n",
        'data "kafka_topics" "all" {}\n',
    ],
)
def test_what_depends_on_more_than_what_was_read_is_not_kept(more: str, tmp_path: Path) -> None:
    loaded(tmp_path / "project", {"main.tf": BARE + more}, inputs(tmp_path))
    assert files(tmp_path) == []


def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, evaluated: list[int]) -> None:
    wanted = loaded(tmp_path / "project", FILES, inputs(tmp_path))
    (file,) = files(tmp_path)
    whole = file.read_bytes()
    for damaged in (b"", whole[:20], whole[:-1], whole[:60] + b"\0" + whole[61:], b"x" * 500):
        file.write_bytes(damaged)
        same(loaded(tmp_path / "project", {}, inputs(tmp_path)), wanted)
    assert len(evaluated) == 6


def test_a_file_of_another_kplan_is_as_good_as_none(
    tmp_path: Path, evaluated: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded(tmp_path / "project", FILES, inputs(tmp_path))
    monkeypatch.setattr(kept, "_program", lambda: iter(["another"]))
    loaded(tmp_path / "project", FILES, inputs(tmp_path))
    assert len(evaluated) == 2


class Bad:
    """Something that runs a command when it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch ran",)


def test_nothing_is_run_from_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert kept._loaded(pickle.dumps(Bad()), {}) is None
    assert not (tmp_path / "ran").exists()
    with pytest.raises(pickle.PicklingError):
        kept._dumped(Bad())


def test_a_small_configuration_is_not_worth_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "LEAST", 6)
    loaded(tmp_path / "project", FILES, inputs(tmp_path))
    assert files(tmp_path) == []
