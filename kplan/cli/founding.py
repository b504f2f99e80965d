"""The files of a new project: a configuration to begin with, hooks, and a pipeline."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from kplan.cli.shipped import example
from kplan.model.errors import UsageError

_TEMPLATES = Path(__file__).parent / "scaffold"
_DECLARING = ("*.tf", "*.hcl", "*.tf.json")
_FILES = {
    "kplan.hcl": "kplan.hcl",
    ".gitignore": "gitignore",
    ".pre-commit-config.yaml": "pre-commit-config.yaml",
}
_HERE = (
    ('paths: ["kafka/**"]', 'paths: ["**.hcl", "**.tf"]'),
    ("directory: kafka", "directory: ."),
    ("    - cd kafka\n", ""),
    ("-chdir=kafka ", ""),
    ("kafka/", ""),
)
"""The examples keep their configuration in a folder of its own, a new project at the top."""


class Pipeline(StrEnum):
    """Whose pipeline is written."""

    GITHUB = "github"
    GITLAB = "gitlab"
    JENKINS = "jenkins"
    NONE = "none"


def is_new(folder: Path) -> bool:
    """Tell whether nothing is declared in a folder yet."""
    return not any(True for each in _DECLARING for _ in folder.glob(each))


def project_files(pipeline: Pipeline) -> Mapping[str, str]:
    """Give the files of a new project, by their paths in it."""
    own = {name: (_TEMPLATES / file).read_text("utf-8") for name, file in _FILES.items()}
    return {**own, **pipeline_files(pipeline)}


def pipeline_files(pipeline: Pipeline) -> Mapping[str, str]:
    """Give the files of a pipeline, made of the examples."""
    match pipeline:
        case Pipeline.GITHUB:
            names = [f"github/{each}.yml" for each in ("plan", "apply", "drift")]
            return {f".github/workflows/kplan-{Path(each).name}": _here(each) for each in names}
        case Pipeline.GITLAB:
            return {".gitlab-ci.yml": _here("gitlab/.gitlab-ci.yml")}
        case Pipeline.JENKINS:
            return {"Jenkinsfile": _here("jenkins/Jenkinsfile")}
        case Pipeline.NONE:
            return {}


def _here(name: str) -> str:
    text = (example("ci") / name).read_text("utf-8")
    for there, here in _HERE:
        text = text.replace(there, here)
    return text


def write_new(folder: Path, files: Mapping[str, str]) -> None:
    """Write files where there are none.

    Raises:
        UsageError: one is there already; then none is written.

    """
    there = [name for name in files if (folder / name).exists()]
    if there:
        raise UsageError(
            f"{', '.join(there)} is there already; nothing is written.",
            "Move it away, or choose another pipeline with -ci; -ci=none writes none.",
        )
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
