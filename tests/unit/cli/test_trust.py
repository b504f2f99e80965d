"""Plans of a change that nobody trusts yet: each attack of the review, tried (B2 to B4)."""

import json
import shutil
from pathlib import Path

import pytest

from kplan.cli.run import run
from kplan.config.inputs import Inputs, Trust
from kplan.config.trusted import load_restricted
from kplan.kafka.settings.resolver import resolve_settings
from kplan.kinds import KINDS
from kplan.workflow.connection import remote_state_store
from tests.unit.cli.memory_command import MemoryCommand, memory_command

Capture = pytest.CaptureFixture[str]
TOPIC = """
resource "kafka_topic" "t" {
  name               = "NAME"
  partitions         = 1
  replication_factor = 1
}
"""
EVIL = """
from pathlib import Path
Path("ran").write_text("with all that the job has")
class Evil:
    name = "evil"
    def validate_create_topic(self, request, cluster): ...
"""

SMALL = """
policy "small" {
  on = ["create"]
  deny {
    condition = true
    message   = "no"
  }
}
"""


class Request:
    """A repository, the branch that a request is for, and the request's own checkout."""

    def __init__(self, desk: MemoryCommand, base: Path) -> None:
        self.desk = desk
        self.base = base

    def propose(self, text: str, name: str = "main.tf") -> None:
        """Write a file of the request."""
        self.desk.write(text, name)

    def plan(self, *args: str, code: int = 0) -> str:
        """Plan it untrusted, beside the base, and give all that was said, on one line."""
        assert run(["plan", "-untrusted", f"-trusted-ref={self.base}", *args], {}) == code, (
            self.said()
        )
        return self.said()

    def said(self) -> str:
        """Give what was said, on one line."""
        captured = self.desk.capture.readouterr()
        return " ".join((captured.out + captured.err).replace("│", " ").split())


@pytest.fixture
def request_(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> Request:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    desk = memory_command(checkout, capsys, monkeypatch)
    (checkout / ".git").mkdir()
    desk.write('provider "kafka" {\n  bootstrap_servers = ["kafka-1:9092"]\n}\n' + TOPIC)
    base = tmp_path / "base"
    shutil.copytree(checkout, base)
    (tmp_path / "secret.txt").write_text("planted")
    return Request(desk, base)


def test_a_harmless_request_is_planned(request_: Request) -> None:
    request_.propose(TOPIC.replace("NAME", "b").replace('"t"', '"b"'), "b.tf")
    told = request_.plan()
    assert "Plan: 2 to add" in told
    assert "KP31" not in told


@pytest.mark.parametrize(
    "expression",
    [
        'file("/etc/hostname")', 'file("../secret.txt")', 'filebase64("/proc/self/environ")',
        'fileexists("../secret.txt")', 'join(",", fileset("..", "*"))',
        'templatefile("../secret.txt", {})', 'filesha256("../secret.txt")',
    ],
)  # fmt: skip
def test_nothing_outside_of_the_repository_is_read(request_: Request, expression: str) -> None:
    request_.propose(f'output "x" {{\n  value = {expression}\n}}\n', "evil.tf")
    told = request_.plan(code=1)
    assert "outside of the repository" in told or "is of the system" in told
    assert "planted" not in told


@pytest.mark.parametrize("name", ["evil.tf", "evil.auto.tfvars", "data.txt", "state"])
def test_links_out_of_the_repository_are_refused(request_: Request, name: str) -> None:
    """A file that does not parse would be quoted, line by line."""
    (request_.desk.folder / name).symlink_to(request_.base.parent / "secret.txt")
    told = request_.plan(code=1)
    assert f"links to files outside of it: {name}" in told
    assert "planted" not in told


def test_a_module_outside_of_the_repository_is_none(request_: Request) -> None:
    outside = request_.base.parent / "module"
    outside.mkdir()
    (outside / "main.tf").write_text("planted")
    request_.propose('module "m" {\n  source = "../module"\n}\n', "evil.tf")
    assert "planted" not in request_.plan(code=1)


def test_python_of_a_request_does_not_run(request_: Request) -> None:
    """Four lines of it switched off a trusted -policy."""
    request_.propose(EVIL, "evil.py")
    request_.propose('policies {\n  paths = ["evil.py"]\n}\n', "evil.tf")
    assert "the policies block" in request_.plan()
    assert not (request_.desk.folder / "ran").exists()
    assert run(["plan"], {}) == 1
    assert "evil.py is Python, and only the configuration" in request_.said()
    assert not (request_.desk.folder / "ran").exists()
    assert run(["plan", "-allow-python"], {}) == 0
    assert (request_.desk.folder / "ran").exists()


def test_policies_are_those_of_the_branch_that_the_request_is_for(request_: Request) -> None:
    (request_.base / "policy.tf").write_text(SMALL)
    (request_.base / "trusted.py").write_text(EVIL.replace("ran", "trusted"))
    (request_.base / "more.tf").write_text('policies {\n  paths = ["trusted.py"]\n}\n')
    request_.propose('policies {\n  mode = "item"\n}\n', "more.tf")
    told = request_.plan(code=1)
    assert "by policy small" in told
    assert "Different from the trusted configuration" in told
    assert (request_.desk.folder / "trusted").exists()


def test_a_policy_that_a_request_edits_is_named_and_the_trusted_one_judges(
    request_: Request,
) -> None:
    """A condition edited from true to false was used from the base, and not said."""
    (request_.base / "policy.tf").write_text(SMALL)
    request_.propose("\n\n# moved\n" + SMALL, "policy.tf")
    told = request_.plan(code=1)
    assert "KP312" not in told, "it only moved"
    request_.propose(SMALL.replace("= true", "= false"), "policy.tf")
    told = request_.plan(code=1)
    assert "by policy small" in told
    assert "whose policies check this plan: small." in told


def test_a_trusted_policy_is_quoted_from_the_trusted_file(request_: Request) -> None:
    """The lines of the change at the place of the policy were quoted as those of the policy."""
    base = request_.base.resolve()
    main = (base / "main.tf").read_text()
    (base / "main.tf").write_text(main + SMALL)
    line = (main + SMALL).splitlines().index("    condition = true") + 1
    request_.propose(main + "\n" * 2 + "# planted\n" * 12)
    told = request_.plan(code=1)
    assert f"the policy on {base}/main.tf line {line}," in told
    assert f'in policy "small": {line}: condition = true' in told
    assert f"Policy small at {base}/main.tf:{line}:" in told
    assert "planted" not in told
    request_.plan("-report=sarif=plan.sarif", "-report=json=plan.json", code=1)
    results = json.loads(Path("plan.sarif").read_text())["runs"][0]["results"]
    (place,) = [place for each in results for place in each.get("relatedLocations", ())]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == (base / "main.tf").as_uri()
    assert place["physicalLocation"]["region"]["startLine"] == line
    plan = json.loads(Path("plan.json").read_text())
    assert plan["kplan"]["policies"][0]["policy_at"].startswith(f"{base}/main.tf:{line}:")


def test_policies_in_other_folders_that_a_request_edits_are_named(request_: Request) -> None:
    for folder in (request_.base, request_.desk.folder):
        (folder / "rules").mkdir()
        (folder / "rules" / "small.hcl").write_text(SMALL)
        (folder / "more.tf").write_text('policies {\n  paths = ["rules"]\n}\n')
    assert "KP312" not in request_.plan(code=1)
    request_.propose(SMALL.replace("= true", "= false"), "rules/small.hcl")
    told = request_.plan(code=1)
    assert "by policy small" in told
    assert "whose policies check this plan: rules." in told


def test_a_state_block_that_a_request_edits_is_named_and_not_used(request_: Request) -> None:
    request_.propose('state {\n  backend = "kafka"\n  key = "others"\n}\n', "state.tf")
    told = request_.plan()
    assert "The state block differs from the trusted one" in told
    assert "Plan: 1 to add" in told


def test_modules_that_terraform_installed_are_those_of_the_repository(request_: Request) -> None:
    outside = request_.base.parent / "module"
    outside.mkdir()
    (outside / "main.tf").write_text("planted")
    request_.propose('module "m" {\n  source = "git::https://example.com/m.git"\n}\n', "evil.tf")
    (request_.desk.folder / ".terraform" / "modules").mkdir(parents=True)
    request_.propose(
        '{"Modules":[{"Key":"m","Source":"git::https://example.com/m.git","Dir":"../module"}]}',
        ".terraform/modules/modules.json",
    )
    assert "planted" not in request_.plan(code=1)


def test_the_connection_is_that_of_the_branch_that_the_request_is_for(request_: Request) -> None:
    request_.propose('provider "kafka" {\n  bootstrap_servers = ["evil:9092"]\n}\n' + TOPIC)
    told = request_.plan()
    assert "The provider block differs from the trusted one in bootstrap_servers." in told
    request_.propose(
        'provider "kafka" {\n  alias = "evil"\n  bootstrap_servers = ["evil:9092"]\n}\n', "evil.tf"
    )
    assert "is not in the trusted configuration" in request_.plan(code=1)


def test_without_a_trusted_checkout_no_block_decides_the_connection(request_: Request) -> None:
    assert run(["plan", "-untrusted"], {}) == 1
    assert '"bootstrap_servers" of a provider block is part of the connection' in request_.said()
    request_.propose('provider "kafka" {\n  timeout = 30\n}\n' + TOPIC)
    assert run(["plan", "-untrusted"], {}) == 0
    request_.propose('state {\n  backend = "kafka"\n  key = "others"\n}\n', "state.tf")
    assert run(["plan", "-untrusted"], {}) == 1
    assert "the place of the state is not that of the configuration" in request_.said()


@pytest.mark.parametrize("verb", ["validate", "test", "policy test"])
def test_other_verbs_of_a_request_read_no_more(request_: Request, verb: str) -> None:
    (request_.desk.folder / "evil.tf").symlink_to(request_.base.parent / "secret.txt")
    assert run([*verb.split(), "-untrusted", f"-trusted-ref={request_.base}"], {}) == 1
    assert "links to files outside of it" in request_.said()


def test_a_trusted_checkout_is_there_and_for_untrusted_runs(request_: Request) -> None:
    assert run(["plan", "-untrusted", "-trusted-ref=nowhere"], {}) == 1
    assert "there is no such folder" in request_.said()
    assert run(["plan", f"-trusted-ref={request_.base}"], {}) == 1
    assert "-trusted-ref is for -untrusted" in request_.said()


def test_paths_of_a_trusted_connection_start_in_the_trusted_checkout(request_: Request) -> None:
    """A file of the request said where the credentials of the job were sent to."""
    block = """
provider "kafka" {
  properties_file = "client.properties"
  sasl_password   = "hush-hush"
}
"""
    state = 'state {\n  backend = "kafka"\n}\n'
    for folder, server in ((request_.base, "kafka-1:9092"), (request_.desk.folder, "evil:9092")):
        (folder / "main.tf").write_text(block + state + TOPIC)
        (folder / "client.properties").write_text(
            f"bootstrap.servers={server}\nsecurity.protocol=SASL_SSL\n"
            "sasl.mechanism=SCRAM-SHA-512\nsasl.username=ci\n"
        )
    inputs = Inputs(trust=Trust(request_.desk.folder, request_.base))
    (provider,) = load_restricted(request_.desk.folder, inputs, KINDS).providers
    found = resolve_settings(provider, {}, folder=request_.desk.folder).settings
    assert found is not None
    assert [str(each) for each in found.bootstrap_servers] == ["kafka-1:9092"]
    (request_.desk.folder / "client.properties").unlink()
    assert remote_state_store(request_.desk.folder, inputs, {}) is not None
