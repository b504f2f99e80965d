"""A saved plan keeps the values of the variables it was made with."""

from dataclasses import replace
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.port import Cluster
from kplan.config.inputs import Inputs, VariableText
from kplan.config.load import Configuration
from kplan.model.errors import AuthError, ConfigError, KplanError, StalePlanError
from kplan.state.file_store import FileStore
from kplan.workflow.apply.apply import ApplyHandlers, ApplyResult
from kplan.workflow.apply.saved_plan import apply_saved
from kplan.workflow.plan.plan import make_plan, save_plan
from kplan.workflow.ports import PlanOptions
from tests.project_harness import ProjectHarness

MAIN = """
provider "kafka" {
  sasl_password = var.password
}
variable "names" {
  type = map(object({ partitions = number, ratio = optional(number, 0.1) }))
}
variable "prefix" {
  default = "dev"
}
variable "password" {
  sensitive = true
  default   = "none"
}
resource "kafka_topic" "t" {
  for_each           = var.names
  name               = "${var.prefix}.${each.key}"
  partitions         = each.value.partitions
  replication_factor = 1
  config             = { "min.cleanable.dirty.ratio" = each.value.ratio }
}
output "prefix" { value = var.prefix }
"""
NAMES = "{ a = { partitions = 4 }, c = { partitions = 2, ratio = 0.3 } }"


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    found = ProjectHarness(tmp_path, MemoryCluster())
    found.write(MAIN)
    return found


def saved(site: ProjectHarness, inputs: Inputs) -> Path:
    project = replace(site.project, inputs=inputs)
    path = site.folder / "p.kplan"
    save_plan(make_plan(project, PlanOptions(), site.ports), path, site.ports.now())
    return path


def applied(site: ProjectHarness, path: Path, inputs: Inputs) -> ApplyResult:
    project = replace(site.project, inputs=inputs)
    hands = ApplyHandlers(lambda _: False, site.watcher)
    return apply_saved(project, path, PlanOptions(), (site.ports, hands))


def variants(folder: Path) -> dict[str, Inputs]:
    """Give the same values in every way there is."""
    file = folder / "eu.vars"
    file.write_text(f'names = {NAMES}\nprefix = "eu"\n', encoding="utf-8")
    return {
        "options": Inputs(
            (VariableText("names", NAMES, "-var"), VariableText("prefix", "eu", "-var"))
        ),
        "file": Inputs((file,)),
        "environment": Inputs(environ={"KPLAN_VAR_names": NAMES, "TF_VAR_prefix": "eu"}),
    }


@pytest.mark.parametrize("way", ["options", "file", "environment"])
def test_it_is_applied_where_they_are_not_given_any_more(site: ProjectHarness, way: str) -> None:
    path = saved(site, variants(site.folder)[way])
    done = applied(site, path, Inputs())
    assert sorted(site.cluster.topics()) == ["eu.a", "eu.c"]
    assert done.state.outputs["prefix"].value == "eu"


def test_they_may_be_given_again_and_in_another_way(site: ProjectHarness) -> None:
    ways = variants(site.folder)
    applied(site, saved(site, ways["options"]), ways["file"])
    assert sorted(site.cluster.topics()) == ["eu.a", "eu.c"]


def test_the_environment_of_the_apply_changes_nothing_and_an_option_is_refused(
    site: ProjectHarness,
) -> None:
    path = saved(site, variants(site.folder)["options"])
    with pytest.raises(StalePlanError) as told:
        applied(site, path, Inputs((VariableText("prefix", "us", "-var"),)))
    assert "contains the values of its variables" in told.value.hint
    applied(site, path, Inputs(environ={"TF_VAR_prefix": "us"}))
    assert sorted(site.cluster.topics()) == ["eu.a", "eu.c"]


def test_a_sensitive_value_is_not_in_the_file_and_is_given_to_the_apply(
    site: ProjectHarness,
) -> None:
    site.write(MAIN.replace('  default   = "none"\n', ""))
    secret = Inputs(environ={"KPLAN_VAR_password": "hush-hush"})
    ways = variants(site.folder)
    path = saved(site, replace(ways["options"], environ=secret.environ))
    assert b"hush-hush" not in path.read_bytes()
    with pytest.raises(ConfigError):
        applied(site, path, Inputs())
    assert applied(site, path, secret).outcomes


@pytest.mark.parametrize("word", ["sensitive", "ephemeral"])
def test_the_default_does_not_take_the_place_of_a_value_that_is_not_in_the_file(
    site: ProjectHarness, word: str
) -> None:
    """Another password than the planned one was set, or half of the plan was applied."""
    site.write(MAIN.replace("sensitive = true", f"{word} = true"))
    secret = Inputs(environ={"KPLAN_VAR_password": "hush-hush"})
    path = saved(site, replace(variants(site.folder)["options"], environ=secret.environ))
    assert b"hush-hush" not in path.read_bytes()
    with pytest.raises(KplanError, match="sensitive variables: password") as told:
        applied(site, path, Inputs())
    assert "KPLAN_VAR_password" in told.value.hint
    assert not site.cluster.topics()
    applied(site, path, secret)
    assert site.cluster.topics()
    site.write(MAIN.replace("4 }", "5 }"))
    assert applied(site, saved(site, variants(site.folder)["options"]), Inputs()).is_approved


def test_a_password_that_is_not_given_again_is_named_before_the_login(site: ProjectHarness) -> None:
    """The login with its default fails, and says nothing of the variable."""
    secret = Inputs(environ={"KPLAN_VAR_password": "hush-hush"})
    path = saved(site, replace(variants(site.folder)["options"], environ=secret.environ))

    def log_in(configuration: Configuration, _: str) -> Cluster:
        if not configuration.variables["password"].is_given:
            raise AuthError("User name or password is wrong.")
        return site.cluster

    hands = ApplyHandlers(lambda _: False, site.watcher)
    outside = (replace(site.ports, connect=log_in), hands)
    with pytest.raises(KplanError, match="sensitive variables: password"):
        apply_saved(site.project, path, PlanOptions(), outside)
    apply_saved(replace(site.project, inputs=secret), path, PlanOptions(), outside)
    assert site.cluster.topics()


def test_a_plan_for_a_named_state_is_not_recorded_in_another(site: ProjectHarness) -> None:
    """A state that is new has no lineage by which to tell."""
    inputs = variants(site.folder)["options"]
    elsewhere = site.folder / "elsewhere.json"
    named = replace(
        site.project, inputs=inputs, state_path=elsewhere, is_state_named=True, is_state_exact=True
    )
    path = site.folder / "p.kplan"
    save_plan(make_plan(named, PlanOptions(), site.ports), path, site.ports.now())
    with pytest.raises(StalePlanError, match=r"made for the state in .*elsewhere.json") as told:
        applied(site, path, inputs)
    assert f"-state={elsewhere}" in told.value.hint
    by_environment = replace(site.project, inputs=inputs, is_state_named=True)
    hands = ApplyHandlers(lambda _: False, site.watcher)
    with pytest.raises(StalePlanError, match=r"made for the state in .*elsewhere.json"):
        apply_saved(by_environment, path, PlanOptions(), (site.ports, hands))
    assert not site.cluster.topics()
    hands = ApplyHandlers(lambda _: False, site.watcher)
    apply_saved(named, path, PlanOptions(), (site.ports, hands))
    assert site.cluster.topics()
    assert elsewhere.exists()


def test_a_state_that_kplan_state_names_alike_in_two_checkouts_is_the_same_one(
    site: ProjectHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = variants(site.folder)["options"]
    project = replace(site.project, inputs=inputs, state_path=Path("s/x.json"), is_state_named=True)
    path, hands = site.folder / "p.kplan", ApplyHandlers(lambda _: False, site.watcher)
    for each in ("one", "two"):
        (site.folder / each).mkdir()
        monkeypatch.chdir(site.folder / each)
        if each == "one":
            save_plan(make_plan(project, PlanOptions(), site.ports), path, site.ports.now())
            continue
        other = replace(project, state_path=Path("s/y.json"))
        with pytest.raises(StalePlanError, match=r"made for the state in .*one/s/x.json"):
            apply_saved(other, path, PlanOptions(), (site.ports, hands))
        apply_saved(project, path, PlanOptions(), (site.ports, hands))
    assert (site.folder / "two" / "s" / "x.json").exists()


@pytest.mark.parametrize("is_old", [False, True])
def test_a_state_whose_path_merely_ends_alike_is_another_one(
    site: ProjectHarness, monkeypatch: pytest.MonkeyPatch, *, is_old: bool
) -> None:
    """A plan file of an earlier version does not say how the state was named."""
    inputs = variants(site.folder)["options"]
    project = replace(site.project, inputs=inputs, state_path=Path("s/x.json"), is_state_named=True)
    path, hands = site.folder / "p.kplan", ApplyHandlers(lambda _: False, site.watcher)
    made = make_plan(project, PlanOptions(), site.ports)
    save_plan(replace(made, state_name="") if is_old else made, path, site.ports.now())
    (site.folder / "two").mkdir()
    monkeypatch.chdir(site.folder / "two")
    other = replace(project, state_path=Path("x.json"))
    if not is_old:
        with pytest.raises(StalePlanError, match=r"made for the state in .*s/x.json"):
            apply_saved(other, path, PlanOptions(), (site.ports, hands))
        return
    apply_saved(other, path, PlanOptions(), (site.ports, hands))
    assert (site.folder / "two" / "x.json").exists()


def test_a_state_file_that_the_environment_names_is_nothing_to_a_state_block(
    site: ProjectHarness,
) -> None:
    inputs = variants(site.folder)["options"]
    remote = FileStore(site.folder / "remote.json")
    project = replace(site.project, inputs=inputs, is_state_named=True, remote_store=lambda: remote)
    path = site.folder / "p.kplan"
    save_plan(make_plan(project, PlanOptions(), site.ports), path, site.ports.now())
    hands = ApplyHandlers(lambda _: False, site.watcher)
    moved = replace(project, state_path=site.folder / "other.json")
    apply_saved(moved, path, PlanOptions(), (site.ports, hands))
    assert (site.folder / "remote.json").exists()
