"""Fetch commits with the git at hand."""

import os
import shutil
import subprocess
from pathlib import Path

from kplan.config.diagnostic import OperandError
from kplan.config.packages.source import PackageSource

_TIMEOUT_S = 600
_SETTINGS = (
    "core.hooksPath=/dev/null",  # no code of a repository runs
    "core.autocrlf=false",  # the same files, and so the same digest, on every system
    "advice.detachedHead=false",
    "protocol.ext.allow=never",
    "init.defaultBranch=main",
)
_INHERITED = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX")
_MAX_TEXT = 500


def fetch_commit(source: PackageSource, commit: str, into: Path) -> str:
    """Write the files of a commit, or of what `source.ref` names, into a new folder.

    git asks nothing; credentials come from its own helpers and from SSH. Returns the commit.

    Raises:
        OperandError: git is not installed, the repository does not answer, or lacks the commit.

    """
    into.mkdir(parents=True)
    _git(into, "init", "--quiet", "--template=")
    _git(into, "remote", "add", "origin", source.url)
    wanted = commit or source.ref or "HEAD"
    try:
        _git(into, "fetch", "--quiet", "--depth=1", "--no-tags", "origin", wanted)
        found = _git(into, "rev-parse", "--verify", "FETCH_HEAD^{commit}")
    except OperandError:  # servers need not give single commits, and short names are local
        found = _find_in_all(into, source, wanted)
    if commit and found != commit:
        raise OperandError("KP504", f"{source.address} has no commit {commit}.", UPGRADE_HINT)
    _git(into, "checkout", "--quiet", "--force", "--detach", found)
    if (into / ".gitmodules").is_file():
        _git(into, "submodule", "--quiet", "update", "--init", "--recursive", "--depth=1")
    for each in sorted(into.rglob(".git")):
        shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()
    return found


UPGRADE_HINT = "If that is meant, run kplan init -upgrade and review the change of the lock file."


def _find_in_all(folder: Path, source: PackageSource, wanted: str) -> str:
    branches = "+refs/heads/*:refs/remotes/origin/*"
    _git(folder, "fetch", "--quiet", "--tags", "origin", branches)
    for name in (f"refs/remotes/origin/{wanted}", f"refs/tags/{wanted}", wanted):
        try:
            return _git(folder, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        except OperandError:
            continue
    raise OperandError(
        "KP504",
        f'{source.url} has no branch, tag or commit "{wanted}".',
        "Correct ?ref= in the source of the module.",
    )


def _git(folder: Path, *arguments: str) -> str:
    settings = [part for each in _SETTINGS for part in ("-c", each)]
    environ = {name: value for name, value in os.environ.items() if name not in _INHERITED}
    environ |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    environ.setdefault("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")
    try:
        found = subprocess.run(  # noqa: S603 - git, with a source that was checked
            ["git", *settings, *arguments],  # noqa: S607 - the git of the user
            cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=_TIMEOUT_S, check=False,
        )  # fmt: skip
    except FileNotFoundError:
        raise OperandError(
            "KP504", "git is not installed.", "Install git, or run terraform init."
        ) from None
    except (OSError, subprocess.SubprocessError) as failure:
        raise OperandError("KP504", f"git {arguments[0]} failed: {failure}.") from None
    if found.returncode:
        text = " ".join(found.stderr.decode(errors="replace").split())[:_MAX_TEXT]
        raise OperandError("KP504", f"git {arguments[0]} failed: {text or found.returncode}")
    return found.stdout.decode(errors="replace").strip()
