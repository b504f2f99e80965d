"""Programs that use the library are checked by mypy and pyright as strictly as these can."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kplan.sandbox.artifact import cache_folder, file_lock

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted((ROOT / "examples" / "library").glob("*.py"))
PYRIGHT = "pyright[nodejs]==1.1.414"
UV = (sys.executable, "-m", "uv")
WRONG = """
import kplan
from kplan.admin import AdminClient, NewTopic

plan = kplan.plan(kplan.load("topics"), max_delete=0)
kplan.apply("topics")
kplan.aply(plan)
AdminClient({"bootstrap.servers": 1})
reveal_type(AdminClient({}).create_topics([NewTopic("a")])["a"].get())
reveal_type([each.address.kind for each in plan.changes])
"""
MISTAKES = {5, 6, 7, 8}
"""Lines with a mistake each."""


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("wrong") / "wrong.py"
    file.write_text(WRONG)
    return file


@pytest.fixture(scope="module")
def pyright() -> Path:
    """Install pyright once, with its Node, into an environment of its own."""
    folder = cache_folder() / "tools" / "pyright-1.1.414"
    command = folder / "bin" / "pyright"
    with file_lock(folder.with_suffix(".lock")):
        if not command.exists():
            subprocess.run([*UV, "venv", "--quiet", "--clear", str(folder)], check=True)
            python = str(folder / "bin" / "python")
            install = ["pip", "install", "--quiet", "--python", python, PYRIGHT]
            subprocess.run([*UV, *install], check=True)
    return command


def test_mypy_accepts_the_programs_strictly_and_finds_mistakes(wrong: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary",
               "--ignore-missing-imports"]  # fmt: skip
    for file in PROGRAMS:
        done = subprocess.run(
            [*command, str(file)], check=False, capture_output=True, text=True, cwd=ROOT
        )
        assert done.stdout == "", file
    done = subprocess.run(
        [*command, str(wrong)], check=False, capture_output=True, text=True, cwd=ROOT
    )
    found = {int(each) for each in re.findall(r"wrong\.py:(\d+): error:", done.stdout)}
    assert found == MISTAKES, done.stdout
    revealed = re.findall(r'Revealed type is "(.+)"', done.stdout)
    assert [each.replace("builtins.", "") for each in revealed] == ["None", "list[str]"]


def test_pyright_accepts_the_programs_strictly_and_finds_mistakes(
    pyright: Path, wrong: Path, tmp_path: Path
) -> None:
    for name, files, lines in (("right", PROGRAMS, set()), ("wrong", [wrong], MISTAKES)):
        folder = tmp_path / name
        folder.mkdir()
        for each in files:
            shutil.copy(each, folder)
        settings = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT)]}
        (folder / "pyrightconfig.json").write_text(json.dumps(settings))
        done = subprocess.run(
            [str(pyright), "--outputjson", f"--pythonpath={sys.executable}"],
            check=False, capture_output=True, text=True, cwd=folder,
        )  # fmt: skip
        found = json.loads(done.stdout)
        assert found["summary"]["filesAnalyzed"] == len(files)
        told = [
            (each["range"]["start"]["line"] + 1, each["message"])
            for each in found["generalDiagnostics"]
            if each["severity"] == "error"
        ]
        wanted: set[int] = set(lines)
        assert ({line for line, _ in told} & MISTAKES, bool(told)) == (wanted, bool(wanted)), told
