"""`kplan.load`: values of variables, errors, and what is not read unless asked."""

from pathlib import Path

import pytest

import kplan
from tests.unit.api.conftest import Folder

SIZED = """
variable "size" { type = number }
variable "names" {
  type    = list(string)
  default = ["a"]
}
variable "secret" {
  type      = string
  default   = "hunter2"
  sensitive = true
}
resource "kafka_topic" "t" {
  for_each           = toset(var.names)
  name               = each.key
  partitions         = var.size
  replication_factor = 1
}
"""


def test_variables_are_data_and_win_over_files_and_environment(folder: Folder) -> None:
    folder.write(SIZED)
    folder.write("size = 2\n", "terraform.tfvars")
    folder.write("size = 4\n", "own.tfvars")
    environment = {"TF_VAR_size": "1"}
    own = folder.path / "own.tfvars"
    assert folder.load(environment=environment).variables["size"] == 2
    assert folder.load(environment=environment, variable_files=[own]).variables["size"] == 4
    project = folder.load(variable_files=[own], variables={"size": 7, "names": ["x", "y"]})
    assert project.variables == {"size": 7, "names": ["x", "y"], "secret": None}
    assert [str(each.address) for each in project.resources] == [
        'kafka_topic.t["x"]',
        'kafka_topic.t["y"]',
    ]


def test_text_is_no_template(folder: Folder) -> None:
    folder.write('variable "text" {}\noutput "text" { value = var.text }\n')
    assert folder.load(variables={"text": "${y}"}).variables == {"text": "${y}"}


def test_every_error_of_a_configuration_is_in_one_exception(folder: Folder) -> None:
    folder.write(SIZED + 'resource "kafka_topic" "u" { nam = "u" }\n')
    with pytest.raises(kplan.ConfigError) as raised:
        folder.load(variables={"sizes": 1})
    found = {each.code: each for each in raised.value.diagnostics}
    assert {"KP174", "KP121"} <= found.keys()
    assert "sizes" in found["KP174"].detail
    assert str(found["KP121"].subject).startswith("main.tf:18:")


def test_a_value_that_is_no_json_data_is_named(folder: Folder) -> None:
    folder.write(SIZED)
    with pytest.raises(kplan.UsageError, match=r"variables\['size'\]: PosixPath"):
        folder.load(variables={"size": Path()})


def test_a_folder_that_is_not_there_is_named() -> None:
    with pytest.raises(kplan.UsageError, match="/nowhere is not a folder"):
        kplan.load("/nowhere")


def test_the_environment_is_not_read_unless_asked(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write(SIZED)
    monkeypatch.setenv("TF_VAR_size", "5")
    monkeypatch.setenv("KPLAN_VAR_size", "5")
    monkeypatch.setenv("KPLAN_WORKSPACE", "eu")
    monkeypatch.setenv("KPLAN_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    with pytest.raises(kplan.ConfigError) as raised:
        folder.load()
    assert "KP170" in {each.code for each in raised.value.diagnostics}
    project = kplan.load(folder.path, variables={"size": 1})
    assert project.workspace == "default"
    with pytest.raises(kplan.ConfigError, match="connection"):
        kplan.plan(project)  # no bootstrap server is known


def test_an_environment_that_is_given_is_read(folder: Folder) -> None:
    folder.write(SIZED)
    environment = {"TF_VAR_size": "5", "KPLAN_WORKSPACE": "eu", "KPLAN_STATE": "s.json"}
    project = folder.load(environment=environment)
    assert (project.variables["size"], project.workspace) == (5, "eu")
    kplan.apply(kplan.plan(project))
    assert (folder.path / "s.json.d" / "eu" / "s.json").is_file()


def test_the_state_is_in_the_folder_whatever_the_current_one_is(
    folder: Folder, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    kplan.apply(kplan.plan(folder.load()))
    assert (folder.path / "state" / "kplan.json").is_file()
    kplan.apply(kplan.plan(folder.load(state="own.json")))
    assert (folder.path / "own.json").is_file()
