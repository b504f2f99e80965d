"""HCL for review, in files named after a cluster, and those of an earlier answer."""

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import count, product
from pathlib import Path
from tempfile import TemporaryDirectory


def write_hcl_files(
    folder: Path,
    clusters: Iterable[str],
    made: Iterable[tuple[str, Mapping[str, str]]],
    headers: Mapping[str, str],
    note: Callable[[str], None],
) -> None:
    """Write FOLDER/CLUSTER.ENDING.tf, and delete those that an earlier answer wrote and this not.

    Files with `resource` blocks stay as they are: once they are applied they are the declaration of
    what they made. So do those that kplan did not write. Where one of them has the name, it is
    CLUSTER.ENDING.2.tf and so on. No file is changed before `made` is at its end: where that fails,
    the earlier answer is whole.

    In: the names of the clusters asked for, for each cluster with HCL its texts by ending,
    and how the text of each ending begins: a file without this first line is not kplan's.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = _write_texts(folder, made, headers)
    for file, is_new in sorted(written.items()):
        note(f"{'Written' if is_new else 'Unchanged'}: {file}")
    for name, ending in product(clusters, headers):
        for file in _files(folder, name, ending):
            if file in written or not _is_kplans(file, headers[ending]):
                continue
            if _has_resources(file):
                note(f"Left: {file}, of an earlier answer: objects may be declared there alone")
            else:
                file.unlink()
                note(f"Deleted: {file}, which an earlier answer wrote")


def _write_texts(
    folder: Path, made: Iterable[tuple[str, Mapping[str, str]]], headers: Mapping[str, str]
) -> Mapping[Path, bool]:
    """Write all texts or none, and return the files that have them, and whether each is new."""
    found: dict[Path, bool] = {}
    with TemporaryDirectory(prefix=".kplan-", dir=folder) as held:
        for name, texts in made:
            for ending, text in texts.items():
                file = _file(folder, name, ending, text, headers[ending])
                found[file] = not file.exists() or (
                    _is_kplans(file, headers[ending]) and _text(file) != text
                )
                if found[file]:
                    Path(held, file.name).write_text(text, encoding="utf-8", newline="")
        for written in Path(held).iterdir():
            written.replace(folder / written.name)
    return found


def _file(folder: Path, name: str, ending: str, text: str, header: str) -> Path:
    """Name the file for a text: the one with its blocks, or else the first that may be replaced.

    The comments are the evidence, which is another one each day. A text may be comments alone.
    """
    blocks = _blocks(text)
    for file in _files(folder, name, ending):
        if _blocks(_text(file)) == blocks and (blocks or _is_kplans(file, header)):
            return file
    names = (f"{name}.{ending}{f'.{n}' if n > 1 else ''}.tf" for n in count(1))
    return next(
        file
        for file in map(folder.joinpath, names)
        if not file.exists() or (_is_kplans(file, header) and not _has_resources(file))
    )


def _files(folder: Path, name: str, ending: str) -> list[Path]:
    pattern = re.compile(rf"{re.escape(f'{name}.{ending}')}([.]\d+)?[.]tf")
    return sorted(each for each in folder.iterdir() if pattern.fullmatch(each.name))


def _is_kplans(file: Path, header: str) -> bool:
    """Whether kplan wrote a file, by its first line."""
    return _text(file).splitlines()[:1] == header.splitlines()[:1]


def _has_resources(file: Path) -> bool:
    return any(each.lstrip().startswith("resource") for each in _text(file).splitlines())


def _blocks(text: str) -> list[str]:
    return [each for each in text.splitlines() if each and not each.startswith("#")]


def _text(file: Path) -> str:
    """Return what a file has, as it is; "" where there is none."""
    try:
        return file.read_bytes().decode("utf-8", errors="replace")
    except OSError:
        return ""
