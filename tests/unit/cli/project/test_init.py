"""`kplan init` begins a project: it is planned, and its pipelines type commands of kplan."""

import re
from pathlib import Path

import pytest
import yaml
from check_jsonschema import main as schemas
from click.testing import CliRunner
from pre_commit.clientlib import load_config

from kplan.cli.project.init import PINNED, Pipeline, project_files
from kplan.cli.run import run
from tests.docs.test_pipelines import parse, typed
from tests.object_servers import s3_server
from tests.unit.cli.memory_command import MemoryCommand, memory_command

Capture = pytest.CaptureFixture[str]
OWN = {"kplan.hcl", ".gitignore", ".pre-commit-config.yaml"}
WRITTEN = {
    "github": {
        *(f".github/workflows/kplan-{each}.yml" for each in ("plan", "apply", "resume", "drift")),
        *(f".github/actions/kplan/{each}" for each in ("action.yml", "run.py")),
    },
    "gitlab": {".gitlab-ci.yml"},
    "jenkins": {"Jenkinsfile"},
    "none": set(),
}


@pytest.fixture
def desk(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    (tmp_path / "main.tf").unlink()
    return found


def there(folder: Path) -> set[str]:
    return {str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()}


@pytest.mark.parametrize("ci", WRITTEN)
def test_a_project_is_begun_with_the_pipeline_that_is_asked_for(
    desk: MemoryCommand, ci: str
) -> None:
    told = desk.run("init", f"-ci={ci}")
    assert there(desk.folder) == OWN | WRITTEN[ci]
    assert all(f"Wrote {each}\n" in told for each in OWN | WRITTEN[ci])
    assert "kplan is ready.\nFiles: kplan.hcl\nResources: 2\n" in told


def test_a_new_project_is_formatted_planned_applied_and_has_no_drift(desk: MemoryCommand) -> None:
    desk.run("init", "-ci=none")
    assert desk.run("fmt", "-check") == ""
    assert desk.run("validate").startswith("Success!")
    one = "-var=replication_factor=1"
    assert "Plan: 2 to add, 0 to change, 0 to destroy." in desk.run("plan", one)
    desk.run("apply", "-auto-approve", one)
    assert "No changes." in desk.run("plan", "-detailed-exitcode", one)
    desk.run("drift", one)


@pytest.mark.parametrize("ci", [each for each in WRITTEN if each != "none"])
def test_the_state_of_a_new_pipeline_outlives_its_jobs(desk: MemoryCommand, ci: str) -> None:
    """Review F1: each job has a checkout of its own, and a state in a file went with it."""
    told = desk.run("init", f"-ci={ci}")
    text = (desk.folder / "kplan.hcl").read_text()
    assert f'state {{\n  backend = "kafka"\n  key     = "{desk.folder.name}"\n}}' in text
    assert f'State: the topic __kplan_state (key "{desk.folder.name}")' in told
    assert desk.run("fmt", "-check") == ""


def test_a_pipeline_for_a_state_in_a_file_is_warned_of(desk: MemoryCommand) -> None:
    desk.write('provider "kafka" {}\n')
    assert run(["init", "-ci=gitlab"], {}) == 0
    assert "which is lost with each job" in desk.capture.readouterr().err


@pytest.mark.parametrize("pipeline", Pipeline)
def test_every_command_of_a_new_pipeline_is_one_of_kplan_and_for_this_folder(
    pipeline: Pipeline, tmp_path: Path
) -> None:
    for name, text in project_files(pipeline).items():
        assert "kafka/" not in text, name
        file = tmp_path / Path(name).name
        file.write_text(text)
        if file.suffix in {".yml", ".yaml"}:
            assert isinstance(yaml.safe_load(text), dict)
        if pipeline in {Pipeline.GITLAB, Pipeline.JENKINS} and name not in OWN:
            verbs = {parse(each) for each in typed(file)}
            assert {"validate", "plan", "apply", "drift"} <= verbs
    for text in project_files(pipeline).values():
        assert not re.search(r"chdir=kafka|directory: kafka|cd kafka", text)


@pytest.mark.parametrize("pipeline", ["github", "gitlab"])
def test_a_new_pipeline_holds_before_the_schema_of_its_service(
    desk: MemoryCommand, pipeline: str
) -> None:
    desk.run("init", f"-ci={pipeline}")
    schema = {"github": "github-workflows", "gitlab": "gitlab-ci"}[pipeline]
    workflows = [each for each in sorted(WRITTEN[pipeline]) if "/actions/" not in each]
    files = [str(desk.folder / each) for each in workflows]
    result = CliRunner().invoke(schemas, [f"--builtin-schema=vendor.{schema}", *files])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("ci", ["github", "gitlab", "jenkins"])
def test_a_pipeline_installs_what_is_named_and_pins_what_is_not(
    desk: MemoryCommand, ci: str
) -> None:
    """Review F2: a name that nobody had published, in jobs with the password of the cluster."""
    assert run(["init", f"-ci={ci}"], {}) == 0
    assert f"installs {PINNED}; your package index must hold it" in desk.capture.readouterr().err
    whole = "".join((desk.folder / each).read_text() for each in WRITTEN[ci])
    assert PINNED in whole
    assert "kplan/kplan" not in whole
    for each in WRITTEN[ci]:
        (desk.folder / each).unlink()
    assert run(["init", f"-ci={ci}", "-install=./kplan.whl"], {}) == 0
    whole = "".join((desk.folder / each).read_text() for each in WRITTEN[ci])
    assert "./kplan.whl" in whole
    assert PINNED not in whole


@pytest.mark.parametrize("ci", ["github", "gitlab", "jenkins"])
def test_a_pipeline_runs_in_the_image_that_is_named(desk: MemoryCommand, ci: str) -> None:
    image = "registry.example/kplan@sha256:" + "0" * 64
    assert run(["init", f"-ci={ci}", f"-install=image:{image}"], {}) == 0
    files = {name: (desk.folder / name).read_text() for name in WRITTEN[ci]}
    jobs = [text for name, text in files.items() if "/actions/" not in name]
    jobs = [each for each in jobs if "kplan" in each and "repos:" not in each]
    named = [each for each in jobs if image in each]
    assert len(named) == (4 if ci == "github" else 1)
    whole = "".join(files.values())
    assert PINNED not in whole
    assert 'pip install --quiet "$INSTALL"' not in "".join(named)
    if ci == "jenkins":
        return
    schema = {"github": "github-workflows", "gitlab": "gitlab-ci"}[ci]
    workflows = [str(desk.folder / name) for name, text in files.items() if text in named]
    result = CliRunner().invoke(schemas, [f"--builtin-schema=vendor.{schema}", *workflows])
    assert result.exit_code == 0, result.output


def test_what_names_no_image_is_refused(desk: MemoryCommand) -> None:
    assert run(["init", "-ci=gitlab", "-install=image:a b"], {}) == 1
    assert "names no image" in desk.capture.readouterr().err
    assert not (desk.folder / ".gitlab-ci.yml").exists()


def test_a_request_that_changes_any_file_is_planned(desk: MemoryCommand) -> None:
    """Review F6: *.tfvars, *.tf.json and YAML that a configuration reads."""
    desk.run("init")
    for each in ("plan", "apply"):
        text = (desk.folder / f".github/workflows/kplan-{each}.yml").read_text()
        assert "paths:" not in text.replace("no paths:", "")


def test_pre_commit_takes_the_hooks_of_a_new_project(desk: MemoryCommand) -> None:
    desk.run("init")
    assert load_config(desk.folder / ".pre-commit-config.yaml")["repos"]


def test_hooks_of_a_new_project_are_hooks_that_kplan_offers() -> None:
    offered = {
        each["id"]
        for each in yaml.safe_load(
            (Path(__file__).parents[4] / ".pre-commit-hooks.yaml").read_text()
        )
    }
    config = yaml.safe_load(project_files(Pipeline.NONE)[".pre-commit-config.yaml"])
    assert {each["id"] for each in config["repos"][0]["hooks"]} <= offered


def test_nothing_is_written_over_and_then_nothing_is_written_at_all(desk: MemoryCommand) -> None:
    (desk.folder / ".gitignore").write_text("mine\n")
    assert ".gitignore: file exists" in desk.run_failing("init")
    assert there(desk.folder) == {".gitignore"}
    assert (desk.folder / ".gitignore").read_text() == "mine\n"


def test_where_something_is_declared_only_a_pipeline_that_is_asked_for_is_added(
    desk: MemoryCommand,
) -> None:
    desk.write('provider "kafka" {}\n')
    assert "Written" not in desk.run("init")
    assert there(desk.folder) == {"main.tf"}
    assert "Wrote Jenkinsfile\n" in desk.run("init", "-ci=jenkins")
    assert there(desk.folder) == {"main.tf", "Jenkinsfile"}
    assert "Jenkinsfile: file exists" in desk.run_failing("init", "-ci=jenkins")


STATE_IN_A_BUCKET = """
provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
state {
  backend  = "s3"
  bucket   = "nosuch"
  key      = "shop"
  region   = "us-east-1"
  endpoint = "ENDPOINT"
}
"""


def test_the_place_of_the_state_is_checked_before_it_is_called_ready(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Terraform's init does; it said that kplan is ready, and the first plan failed."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with s3_server("states") as endpoint:
        desk.write(STATE_IN_A_BUCKET.replace("ENDPOINT", endpoint))
        said = desk.run_failing("init")
        assert "The bucket nosuch, which stores the state, does not exist" in said
        assert "kplan is ready" in desk.run("init", "-backend=false")
        desk.write(STATE_IN_A_BUCKET.replace("ENDPOINT", endpoint).replace("nosuch", "states"))
        assert "kplan is ready" in desk.run("init")
    desk.write(STATE_IN_A_BUCKET.replace("ENDPOINT", "http://127.0.0.1:1"))
    assert "[KP925]" in desk.run_failing("init")


def test_init_works_without_the_cluster_that_holds_the_state(desk: MemoryCommand) -> None:
    desk.write(
        'provider "kafka" {\n  bootstrap_servers = ["127.0.0.1:1"]\n  tls_enabled = false\n}\n'
        'state {\n  backend = "kafka"\n  key = "shop"\n}\n'
    )
    said = desk.run_failing("init", code=0)
    assert "Warning: Cannot reach the cluster [KP911]" in said
    assert "The state was not checked." in said
    desk.write('state {\n  backend = "kafka"\n  key = "shop"\n}\n')
    said = desk.run_failing("init", code=0)
    assert "Warning: Missing connection setting [KP303]" in said


def test_a_pipeline_nobody_knows_is_refused(desk: MemoryCommand) -> None:
    assert "'travis'" in desk.run_failing("init", "-ci=travis")
    assert there(desk.folder) == set()
