"""What was approved is what is applied (review B5, finding 2 of the state)."""

import hashlib
import json
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kplan.cli.run import run
from kplan.model.plan import PolicySource
from kplan.plan.digest import has_same_actions, plan_digest, with_checksum
from kplan.state.plan_file import read_plan
from tests.project_harness import MAIN_TF
from tests.unit.cli.memory_command import MemoryCommand, memory_command

Capture = pytest.CaptureFixture[str]
Edit = Callable[[dict[str, Any]], None]


@pytest.fixture
def desk(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    found.run("plan", "-out=p.kplan")
    return found


def edit(file: Path, change: Edit) -> None:
    """Edit a plan file, and repair the SHA-256 of its contents."""
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    plan = json.loads(members["plan.json"])
    change(plan)
    members["plan.json"] = json.dumps(plan).encode()
    about = json.loads(members["meta.json"])
    about["plan_sha256"] = hashlib.sha256(members["plan.json"]).hexdigest()
    members["meta.json"] = json.dumps(about).encode()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def topics(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in plan["changes"] if each["kind"] == "kafka_topic"]


def more_partitions(plan: dict[str, Any]) -> None:
    for each in topics(plan):
        text = json.dumps(each["after"]).replace('"partitions": ', '"partitions": 9')
        each["after"] = json.loads(text)


def other_batches(plan: dict[str, Any]) -> None:
    """Show one change and execute another."""
    row = json.loads(json.dumps(topics(plan)[0]))
    row["after"] = json.loads(json.dumps(row["after"]).replace('"partitions": ', '"partitions": 9'))
    plan["changes"].append(row)
    for batch in plan["batches"]:
        if batch["kind"] == "kafka_topic":
            batch["changes"][0] = len(plan["changes"]) - 1


@pytest.mark.parametrize("change", [more_partitions, other_batches])
@pytest.mark.parametrize("verb", ["apply", "show"])
def test_an_edited_plan_is_neither_shown_nor_applied(
    desk: MemoryCommand, change: Edit, verb: str
) -> None:
    edit(desk.folder / "p.kplan", change)
    assert "was edited" in desk.run_failing(verb, "p.kplan")
    assert not desk.cluster.topics()


def test_an_edited_plan_without_its_digest_is_not_the_approved_one(desk: MemoryCommand) -> None:
    """Whoever leaves the digest out has to reckon with what is computed anew."""
    approved = read_plan(desk.folder / "p.kplan").plan.checksum

    def change(plan: dict[str, Any]) -> None:
        more_partitions(plan)
        plan["plan"]["digest"] = ""

    edit(desk.folder / "p.kplan", change)
    told = desk.run_failing("apply", f"-expect-checksum={approved}", "p.kplan")
    assert f"and {approved} was expected" in told
    told = desk.run_failing("apply", "p.kplan")
    assert "changes that the configuration does not ask for" in told
    assert not desk.cluster.topics()


OPEN = """
resource "kafka_topic" "t" {
  name               = "t"
  partitions         = -1
  replication_factor = -1
}
"""


def test_a_saved_plan_of_what_the_broker_chooses_is_applied(desk: MemoryCommand) -> None:
    """What is left to the broker is in the plan, and not in the configuration."""
    desk.write(OPEN)
    assert "replication_factor = 1" in desk.run("plan", "-out=p.kplan")
    desk.run("apply", "p.kplan")
    assert set(desk.cluster.topics()) == {"t"}
    assert "No changes." in desk.run("plan", "-detailed-exitcode")


def test_the_choice_of_the_broker_is_asked_for_again(desk: MemoryCommand) -> None:
    """Another number in the plan is not what this broker chooses."""
    desk.write(OPEN)
    desk.run("plan", "-out=p.kplan")

    def change(plan: dict[str, Any]) -> None:
        more_partitions(plan)
        plan["plan"]["digest"] = ""

    edit(desk.folder / "p.kplan", change)
    told = desk.run_failing("apply", "p.kplan")
    assert "changes that the configuration does not ask for" in told
    assert not desk.cluster.topics()


@pytest.mark.parametrize("length", [19, 64])
def test_a_saved_plan_is_applied_by_its_checksum_and_shown_before(
    desk: MemoryCommand, length: int
) -> None:
    plan = read_plan(desk.folder / "p.kplan").plan
    approved = {19: plan.checksum, 64: plan.digest}[length]
    assert len(approved) == length
    assert approved[:4] == plan.digest[:4]
    other = f"{approved[:-1]}{'0' if approved[-1] != '0' else '1'}"
    assert "was expected" in desk.run_failing("apply", f"-expect-checksum={other}", "p.kplan")
    shown = desk.run("apply", f"-expect-checksum={approved}", "p.kplan")
    assert shown.index("Plan: 3 to add") < shown.index("Apply complete!")


def test_the_digest_of_a_plan_is_the_one_that_its_apply_computes(desk: MemoryCommand) -> None:
    desk.run("plan", "-report=json=plan.json")
    told = json.loads((desk.folder / "plan.json").read_text())["kplan"]
    assert told["digest"].startswith(told["checksum"].replace("-", ""))
    desk.run("apply", "-auto-approve", f"-expect-checksum={told['digest']}")


def test_an_approval_is_about_cluster_configuration_lineage_policies_and_overrides(
    desk: MemoryCommand,
) -> None:
    plan = read_plan(desk.folder / "p.kplan").plan
    basis = plan.based_on
    others = [
        replace(plan, based_on=replace(basis, cluster_id="another")),
        replace(plan, based_on=replace(basis, clusters={"eu": "another"})),
        replace(plan, based_on=replace(basis, config_digest="another")),
        replace(plan, based_on=replace(basis, lineage="another", serial=1)),
        replace(plan, policy_sources=(PolicySource("rules", "abc"),)),
        replace(plan, policy_principal="User:other"),
    ]
    digests = {plan_digest(each) for each in (plan, *others)}
    assert len(digests) == 1 + len(others)
    assert all(has_same_actions(plan, each) for each in others)
    first = replace(plan, based_on=replace(basis, lineage="of a state that is not written yet"))
    assert with_checksum(first).checksum == plan.checksum


def test_a_plan_that_must_be_signed_is_applied_only_with_its_signature(
    desk: MemoryCommand,
) -> None:
    key, other = {"KPLAN_PLAN_KEY": "secret"}, {"KPLAN_PLAN_KEY": "another"}
    assert run(["apply", "p.kplan"], key) == 1
    assert "is not signed with the key" in desk.capture.readouterr().err
    assert run(["plan", "-out=p.kplan"], key) == 0
    assert run(["apply", "p.kplan"], other) == 1
    assert run(["show", "p.kplan"], other) == 1
    with zipfile.ZipFile(desk.folder / "p.kplan") as archive:
        assert b"secret" not in b"".join(map(archive.read, archive.namelist()))
    assert run(["apply", "p.kplan"], key) == 0


def flat(text: str) -> str:
    return " ".join(text.replace("\u2502", " ").split())


def test_a_configuration_can_require_signed_plans(desk: MemoryCommand) -> None:
    key = {"KPLAN_PLAN_KEY": "secret"}
    (desk.folder / "signed.tf").write_text("plan { require_signature = true }\n")
    assert run(["plan", "-out=q.kplan"], {}) == 1
    assert "neither KPLAN_PLAN_KEY nor KPLAN_PLAN_SIGNERS" in flat(desk.capture.readouterr().err)
    assert not (desk.folder / "q.kplan").exists()
    assert run(["plan", "-out=q.kplan"], key) == 0
    assert run(["apply", "q.kplan"], {}) == 1
    assert "requires signed plans" in desk.capture.readouterr().err
    assert not desk.cluster.topics()
    assert run(["apply", "q.kplan"], key) == 0


@pytest.mark.parametrize(
    ("verb", "command"),
    [("apply", "kplan plan -out=FILE"), ("destroy", "kplan plan -destroy -out=FILE")],
)
def test_what_requires_a_signature_is_not_applied_without_a_file(
    desk: MemoryCommand, verb: str, command: str
) -> None:
    (desk.folder / "signed.tf").write_text("plan { require_signature = true }\n")
    assert run([verb, "-auto-approve"], {"KPLAN_PLAN_KEY": "secret"}) == 1
    told = flat(desk.capture.readouterr().err)
    assert "this one is in no file" in told
    assert command in told
    assert not desk.cluster.topics()


@pytest.fixture
def signers(desk: MemoryCommand) -> Path:
    """Write keys of alice and mallory, and the file in which alice is an allowed signer."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed here")
    for name in ("alice", "mallory"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", name]
        subprocess.run(command, cwd=desk.folder, check=True)
    file = desk.folder / "signers"
    public = (desk.folder / "alice.pub").read_text()
    file.write_text(f'alice@example.com namespaces="kplan" {public}')
    return file


def sign(folder: Path, key: str, namespace: str = "kplan") -> None:
    (folder / "p.kplan.sig").unlink(missing_ok=True)
    command = ["ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", key, "p.kplan"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def test_a_plan_is_applied_with_the_ssh_signature_of_an_allowed_signer(
    desk: MemoryCommand, signers: Path
) -> None:
    given = {"KPLAN_PLAN_SIGNERS": str(signers)}
    (desk.folder / "signed.tf").write_text("plan { require_signature = true }\n")
    assert run(["plan", "-out=p.kplan"], given) == 0
    told = desk.capture.readouterr().err
    assert "ssh-keygen -Y sign -n kplan -f KEY p.kplan" in told
    for verb in ("show", "apply"):
        assert run([verb, "p.kplan"], given) == 1
        assert "p.kplan.sig does not exist" in flat(desk.capture.readouterr().err)
    sign(desk.folder, "alice")
    assert run(["show", "p.kplan"], given) == 0
    assert "signed by alice@example.com" in desk.capture.readouterr().err
    assert run(["apply", "p.kplan"], given) == 0
    assert "signed by alice@example.com" in desk.capture.readouterr().err
    assert desk.cluster.topics()


def other_key(desk: MemoryCommand) -> None:
    sign(desk.folder, "mallory")


def other_purpose(desk: MemoryCommand) -> None:
    sign(desk.folder, "alice", "git")


def other_contents(desk: MemoryCommand) -> None:
    sign(desk.folder, "alice")
    with zipfile.ZipFile(desk.folder / "p.kplan", "a") as archive:
        archive.comment = b"another"


def other_plan(desk: MemoryCommand) -> None:
    sign(desk.folder, "alice")
    signature = (desk.folder / "p.kplan.sig").read_bytes()
    desk.run("plan", "-out=p.kplan", "-target=kafka_topic.a")
    (desk.folder / "p.kplan.sig").write_bytes(signature)


def expired(desk: MemoryCommand) -> None:
    sign(desk.folder, "alice")
    file = desk.folder / "signers"
    file.write_text(file.read_text().replace('="kplan"', '="kplan",valid-before="20200101"'))


def damaged(desk: MemoryCommand) -> None:
    (desk.folder / "p.kplan.sig").write_bytes(b"\x00-----BEGIN SSH SIGNATURE-----")


def no_signers(desk: MemoryCommand) -> None:
    sign(desk.folder, "alice")
    (desk.folder / "signers").unlink()


@pytest.mark.parametrize(
    "attack",
    [other_key, other_purpose, other_contents, other_plan, expired, damaged, no_signers],
)
def test_another_signature_or_other_contents_are_refused_before_anything_is_sent(
    desk: MemoryCommand, signers: Path, attack: Callable[[MemoryCommand], None]
) -> None:
    attack(desk)
    for verb in ("show", "apply"):
        assert run([verb, "p.kplan"], {"KPLAN_PLAN_SIGNERS": str(signers)}) == 1
        told = flat(desk.capture.readouterr().err)
        assert "is not a signature of" in told or "does not exist" in told
    assert not desk.cluster.topics()


def test_a_missing_ssh_keygen_is_named(
    desk: MemoryCommand, signers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign(desk.folder, "alice")
    monkeypatch.setenv("PATH", "/nonexistent")
    assert run(["apply", "p.kplan"], {"KPLAN_PLAN_SIGNERS": str(signers)}) == 1
    assert "ssh-keygen, which is not installed" in flat(desk.capture.readouterr().err)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("plan { require_signature = [] }", "KP178"),
        ("plan { require_signature = local.no }", "KP141"),
        ("plan { signed = true }", "KP121"),
        ("plan {}\nplan {}", "KP128"),
    ],
)
def test_a_plan_block_is_checked(desk: MemoryCommand, text: str, code: str) -> None:
    (desk.folder / "signed.tf").write_text(text + "\n")
    assert f"[{code}]" in desk.run_failing("validate")


def test_a_called_module_does_not_say_what_a_saved_plan_must_have(desk: MemoryCommand) -> None:
    (desk.folder / "part").mkdir()
    (desk.folder / "part" / "main.tf").write_text("plan { require_signature = true }\n")
    (desk.folder / "call.tf").write_text('module "part" {\n  source = "./part"\n}\n')
    assert "[KP138]" in desk.run_failing("validate")


def test_another_configuration_needs_another_approval(desk: MemoryCommand) -> None:
    approved = read_plan(desk.folder / "p.kplan").plan.checksum
    desk.write(MAIN_TF + "# the same objects\n")
    told = desk.run_failing("apply", f"-expect-checksum={approved}")
    assert "The configuration, the policies or the cluster changed" in told


def test_the_commands_for_a_plan_file_quote_its_name(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CI", "")
    signers = {"KPLAN_PLAN_SIGNERS": str(tmp_path / "signers")}
    assert run(("plan", "-out=of today.kplan"), signers) == 0
    told = desk.capture.readouterr().err
    assert "    ssh-keygen -Y sign -n kplan -f KEY 'of today.kplan'" in told
    assert "    kplan apply 'of today.kplan'" in told
