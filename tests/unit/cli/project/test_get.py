"""`kplan get` and `kplan init` fetch modules from git and archives; no other command does."""

import io
import json
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.unit.cli.memory_command import MemoryCommand, memory_command

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
Capture = pytest.CaptureFixture[str]
LOCK = "kplan.lock.json"
TOPIC = """
variable "name" { type = string }
resource "kafka_topic" "this" {
  name               = var.name
  partitions         = 1
  replication_factor = 1
  config             = jsondecode(file("${path.module}/config.json"))
}
module "acl" {
  source = "../acl"
  topic  = kafka_topic.this.name
}
output "name" { value = kafka_topic.this.name }
"""
ACL = """
variable "topic" { type = string }
resource "kafka_acl" "read" {
  resource_name       = var.topic
  resource_type       = "Topic"
  acl_principal       = "User:billing"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
"""


class Repository:
    """A git repository of modules, with one commit and the tag v1."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        self.write("topic/main.tf", TOPIC)
        self.write("topic/config.json", '{"retention.ms": "86400000"}')
        self.write("acl/main.tf", ACL)
        self.commit("v1")

    def write(self, name: str, text: str) -> None:
        """Write a file."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, encoding="utf-8")

    def commit(self, tag: str) -> str:
        """Commit everything, and let the tag point there."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=x")
        self.git("tag", "--force", tag)
        return self.git("rev-parse", "HEAD")

    def git(self, *args: str) -> str:
        """Run git."""
        who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
        ran = subprocess.run(
            ["git", *who, *args], cwd=self.folder, capture_output=True, text=True, check=True
        )
        return ran.stdout.strip()

    def call(self, ref: str = "v1", folder: str = "topic", name: str = "shop.orders") -> str:
        """Return a module block that calls it."""
        source = f"git::file://{self.folder}//{folder}?ref={ref}"
        return f'module "t" {{\n  source = "{source}"\n  name   = "{name}"\n}}\n'


@pytest.fixture
def desk(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> MemoryCommand:
    folder = tmp_path / "team"
    folder.mkdir()
    return memory_command(folder, capsys, monkeypatch)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "modules")


def packages(folder: Path) -> list[Path]:
    return [each for each in (folder / ".kplan/modules").iterdir() if each.is_dir()]


def test_a_team_folder_is_initialised_planned_applied_and_planned_empty(
    desk: MemoryCommand, repository: Repository
) -> None:
    desk.write(repository.call())
    assert "Module not installed [KP500]" in desk.run_failing("plan")
    assert "Module not installed [KP500]" in desk.run_failing("init", "-get=false")
    assert not (desk.folder / ".kplan").exists()
    told = desk.run("init")
    commit = repository.git("rev-parse", "v1")
    assert f"?ref=v1 at {commit}\n" in told
    assert "Resources: 2\n" in told
    assert "Plan: 2 to add, 0 to change, 0 to destroy." in desk.run("plan")
    desk.run("apply", "-auto-approve")
    assert "No changes." in desk.run("plan", "-detailed-exitcode")
    assert desk.run("state", "list").split() == [
        "module.t.kafka_topic.this",
        "module.t.module.acl.kafka_acl.read",
    ]
    assert not list((desk.folder / ".kplan").rglob(".git"))


def test_a_moved_tag_changes_nothing_until_an_upgrade(
    desk: MemoryCommand, repository: Repository
) -> None:
    desk.write(repository.call())
    desk.run("get")
    lock = (desk.folder / LOCK).read_bytes()
    repository.write("topic/config.json", '{"retention.ms": "1"}')
    moved = repository.commit("v1")
    shutil.rmtree(desk.folder / ".kplan")
    desk.run("get")
    assert (desk.folder / LOCK).read_bytes() == lock
    assert "86400000" in desk.run("plan")
    desk.run("get", "-update")
    assert moved.encode() in (desk.folder / LOCK).read_bytes()
    assert "86400000" not in desk.run("plan")


@pytest.mark.parametrize("ref", ["v1", "main", "COMMIT", "SHORT"])
def test_a_ref_is_a_tag_a_branch_or_a_commit(
    desk: MemoryCommand, repository: Repository, ref: str
) -> None:
    commit = repository.git("rev-parse", "v1")
    desk.write(repository.call(ref.replace("COMMIT", commit).replace("SHORT", commit[:8])))
    assert f" at {commit}" in desk.run("get")


def test_a_module_that_was_edited_is_not_planned(
    desk: MemoryCommand, repository: Repository
) -> None:
    desk.write(repository.call())
    desk.run("get")
    (folder,) = packages(desk.folder)
    (folder / "acl/main.tf").write_text(ACL.replace("Read", "All"), encoding="utf-8")
    assert "KP502" in desk.run_failing("plan")
    desk.run("get")
    assert "Plan: 2 to add" in desk.run("plan")


def test_a_commit_that_is_not_there_is_an_error_at_the_call(
    desk: MemoryCommand, repository: Repository
) -> None:
    desk.write(repository.call("v9") + repository.call().replace('"t"', '"u"'))
    told = desk.run_failing("get")
    assert 'on main.tf line 2, column 12, in module "t"' in told
    assert 'has no branch, tag or commit "v9"' in told
    assert "Traceback" not in told
    assert not (desk.folder / LOCK).exists()


def test_a_pipeline_does_not_change_the_lock_file(
    desk: MemoryCommand, repository: Repository
) -> None:
    desk.write(repository.call())
    assert "KP508" in desk.run_failing("get", "-lockfile=readonly")
    desk.run("get")
    lock = (desk.folder / LOCK).read_bytes()
    shutil.rmtree(desk.folder / ".kplan")
    desk.run("init", "-lockfile=readonly")
    assert (desk.folder / LOCK).read_bytes() == lock
    assert len(packages(desk.folder)) == 1


def test_entries_without_a_call_leave_the_lock_file(
    desk: MemoryCommand, repository: Repository
) -> None:
    desk.write(repository.call())
    desk.run("get")
    desk.write("")
    desk.run("get")
    assert json.loads((desk.folder / LOCK).read_text("utf-8")) == {"format": 1, "modules": {}}


def test_modules_in_modules_are_fetched_and_stay_in_their_package(
    desk: MemoryCommand, repository: Repository, tmp_path: Path
) -> None:
    outer = Repository(tmp_path / "outer")
    outer.write("topic/main.tf", repository.call() + 'module "bad" { source = "../../x" }\n')
    outer.commit("v1")
    desk.write(outer.call().replace("name   =", "# name ="))
    desk.run("get")
    assert len(packages(desk.folder)) == 2
    assert "KP506" in desk.run_failing("validate")


def test_links_out_of_a_module_are_refused(desk: MemoryCommand, repository: Repository) -> None:
    (repository.folder / "topic/link.tf").symlink_to("/etc/hostname")
    repository.commit("v2")
    desk.write(repository.call("v2"))
    assert "has a link out of it: topic/link.tf" in desk.run_failing("get")
    assert not packages(desk.folder)


def test_a_damaged_lock_file_is_one_error(desk: MemoryCommand, repository: Repository) -> None:
    desk.write(repository.call())
    for text in (
        "",
        "{",
        "[]",
        '{"format": 2, "modules": {}}',
        '{"format": 1, "modules": {"a": 1}}',
    ):
        desk.write(text, LOCK)
        assert "KP503" in desk.run_failing("get")
        assert "KP503" in desk.run_failing("plan")


def test_a_change_that_is_not_trusted_gets_the_locked_modules_and_no_others(
    desk: MemoryCommand, repository: Repository, tmp_path: Path
) -> None:
    desk.write(repository.call())
    desk.run("get")
    (desk.folder / ".git").mkdir()
    base = tmp_path / "base"
    shutil.copytree(desk.folder, base)
    trust = ("-untrusted", f"-trusted-ref={base}")
    for folder in (desk.folder, base):
        shutil.rmtree(folder / ".kplan")
    desk.run("init", *trust)
    assert packages(desk.folder)
    assert packages(base)
    assert "Plan: 2 to add" in desk.run("plan", *trust)
    desk.write(repository.call() + repository.call("main").replace('"t"', '"u"'))
    assert "KP508" in desk.run_failing("init", *trust)
    desk.run("get")
    assert "KP505" in desk.run_failing("init", *trust)
    assert "KP505" in desk.run_failing("plan", *trust)
    assert "KP505" in desk.run_failing("init", "-untrusted")


@pytest.mark.parametrize("suffix", [".tar.gz", ".zip"])
def test_an_archive_is_fetched_by_its_digest(
    desk: MemoryCommand, tmp_path: Path, suffix: str
) -> None:
    archives = tmp_path / "served"
    archives.mkdir()
    _pack(archives / f"acl{suffix}", ACL)
    with _serve(archives) as address:
        source = f"{address}/acl{suffix}//inner"
        desk.write(f'module "a" {{\n  source = "{source}"\n  topic  = "x"\n}}\n')
        desk.run("get")
        assert "Plan: 1 to add" in desk.run("plan")
        shutil.rmtree(desk.folder / ".kplan")
        _pack(archives / f"acl{suffix}", ACL.replace("Read", "All"))
        assert "KP502" in desk.run_failing("get")
        (archives / f"acl{suffix}").write_bytes(b"no archive")
        assert "cannot be unpacked" in desk.run_failing("get")


def test_an_archive_writes_nothing_outside_of_its_folder(
    desk: MemoryCommand, tmp_path: Path
) -> None:
    archives = tmp_path / "served"
    archives.mkdir()
    with tarfile.open(archives / "bad.tgz", "w:gz") as found:
        member = tarfile.TarInfo("../../../evil.tf")
        member.size = 1
        found.addfile(member, io.BytesIO(b"x"))
    with _serve(archives) as address:
        desk.write(f'module "a" {{\n  source = "{address}/bad.tgz"\n}}\n')
        assert "cannot be unpacked" in desk.run_failing("get")
    assert not list(tmp_path.rglob("evil.tf"))


def _pack(path: Path, text: str) -> None:
    folder = path.parent / "packed" / "inner"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "main.tf").write_text(text, encoding="utf-8")
    path.unlink(missing_ok=True)
    sort = "zip" if path.suffix == ".zip" else "gztar"
    base = str(path).removesuffix(".zip").removesuffix(".tar.gz")
    shutil.make_archive(base, sort, folder.parent)


@contextmanager
def _serve(folder: Path) -> Iterator[str]:
    """Serve the files of a folder on loopback."""
    handler = partial(_QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its signature
        """Say nothing."""
