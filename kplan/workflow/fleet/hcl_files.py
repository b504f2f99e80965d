"""HCL for review, in files named after a cluster, and those of an earlier answer."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path


def write_hcl_files(
    folder: Path,
    clusters: Iterable[str],
    made: Iterable[tuple[str, Mapping[str, str]]],
    headers: Mapping[str, str],
    note: Callable[[str], None],
) -> None:
    """Write FOLDER/CLUSTER.ENDING.tf, and delete those that an earlier answer wrote and this not.

    Files with `resource` blocks stay: once they are applied they are the declaration of what they
    made. In: the names of the clusters asked for, for each cluster with HCL its texts by ending,
    and how the text of each ending begins: a file without this first line is not kplan's, and
    stays.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = set()
    for name, texts in made:
        for ending, text in texts.items():
            file = folder / f"{name}.{ending}.tf"
            file.write_text(text, encoding="utf-8")
            note(f"Written: {file}")
            written.add(file)
    for name in clusters:
        for ending, header in headers.items():
            file = folder / f"{name}.{ending}.tf"
            lines = [] if file in written else _lines(file)
            if not lines or lines[0] != header.partition("\n")[0]:
                continue
            if any(each.startswith("resource ") for each in lines):
                note(f"Left: {file}, of an earlier answer: objects may be declared there alone")
            else:
                file.unlink()
                note(f"Deleted: {file}, which an earlier answer wrote")


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # most are not there
        return []
