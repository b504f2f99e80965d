"""Ask `terraform` for the value of every listed expression and store the answers.

    python tests/unit/config_functions/oracle/generate.py [GROUP...]

`expressions/GROUP.txt` holds one expression a line (`⏎` stands for a line break, `#` starts a
comment line); the answers go to `results/GROUP.jsonl`, one object a line: `expr` and either `type`
(as cty writes types in JSON), `value` (JSON text with exact numbers) and `sensitive` (paths of the
marked parts), or `summary`, `detail` and `span` (first and last column within the expression) of
the first error, or `infinite` where terraform answers infinity, or `unknown` where it leaves the
value open. Needs the terraform binary; the tests read only the stored answers.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import cast

HERE = Path(__file__).parent
PREFIX = "  value = "
ROUNDS = 10


def main(groups: list[str]) -> None:
    """Write the answers of the named groups, or of all."""
    files = sorted((HERE / "expressions").glob("*.txt"))
    for file in files:
        if not groups or file.stem in groups:
            answers = ask(expressions(file))
            target = HERE / "results" / f"{file.stem}.jsonl"
            lines = (json.dumps(each, ensure_ascii=False) for each in answers)
            target.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            print(f"{file.stem}: {len(answers)}")  # noqa: T201 - a script tells what it did
    if not groups or "conversions" in groups:
        conversions()


def conversions() -> None:
    """Write the answers of `conversions.txt`: what a variable of a type makes of a default."""
    wanted = expressions(HERE / "conversions.txt")
    answers = _rounds(wanted, _variable)
    lines = (json.dumps(each, ensure_ascii=False) for each in answers)
    (HERE / "conversions.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    print(f"conversions: {len(answers)}")  # noqa: T201 - a script tells what it did


def expressions(file: Path) -> list[str]:
    """Read the expressions of one group."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return [line.replace("⏎", "\n") for line in lines if line.strip() and not line.startswith("#")]


def ask(wanted: list[str]) -> list[dict[str, object]]:
    """Let terraform plan one output and one resource per expression, less those that fail."""
    return _rounds(wanted, _block)


def _rounds(wanted: list[str], block: Callable[[int, str], str]) -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(HERE / "folder", folder, dirs_exist_ok=True)
        for index, expression in enumerate(wanted):
            (folder / f"e{index}.tf").write_text(block(index, expression), encoding="utf-8")
        failed: dict[int, dict[str, object]] = {}
        for _ in range(ROUNDS):
            found = dict(_failures(_terraform(folder, "plan", "-json", "-out=plan")))
            for index in found:
                (folder / f"e{index}.tf").unlink()
            failed |= found
            if not found:
                break
        plan = json.loads(
            _terraform(folder, "show", "-json", "plan"), parse_float=_Number, parse_int=_Number
        )
    return [
        {"expr": text} | (failed[index] if index in failed else _answer(plan, index))
        for index, text in enumerate(wanted)
    ]


def _variable(index: int, conversion: str) -> str:
    wanted, _, value = conversion.partition(" <- ")
    return f'variable "v{index}" {{\n  type = {wanted}\n  default = {value}\n}}\n' + _block(
        index, f"var.v{index}"
    )


class _Number(str):
    """A number of the plan, kept as it is written."""

    __slots__ = ()


def _block(index: int, expression: str) -> str:
    return (
        f'output "o{index}" {{\n{PREFIX}{expression}\n  sensitive = true\n}}\n'
        f'resource "terraform_data" "r{index}" {{\n  input = {expression}\n}}\n'
    )


def _terraform(folder: Path, *arguments: str) -> str:
    rc = folder / "empty.rc"
    rc.touch()
    environment = os.environ | {"CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": str(rc)}
    done = subprocess.run(
        ["terraform", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def _failures(output: str) -> Iterator[tuple[int, dict[str, object]]]:
    """First error of each file, from the last to the first so that the first stays in a dict."""
    for line in reversed(output.splitlines()):
        diagnostic = json.loads(line).get("diagnostic", {})
        if diagnostic.get("severity") != "error":
            continue
        if "range" not in diagnostic:
            yield from _infinities(f"{diagnostic['summary']}; {diagnostic['detail']}")
            continue
        span = diagnostic["range"]
        start, end = (span[side]["column"] - len(PREFIX) for side in ("start", "end"))
        yield (
            int(span["filename"][1:-3]),
            {
                "summary": diagnostic["summary"],
                "detail": diagnostic["detail"].partition("\ngoroutine")[0],
                "span": [start, end],
            },
        )


def _infinities(detail: str) -> Iterator[tuple[int, dict[str, object]]]:
    """Find outputs that terraform computed as infinite and cannot write."""
    names = re.findall(r"\b[or](\d+)\b[^;]*cannot serialize infinity", detail)
    if not names:
        raise SystemExit(f"no place is given for: {detail}")
    for name in names:
        yield int(name), {"infinite": True}


def _answer(plan: Mapping[str, dict[str, dict[str, object]]], index: int) -> dict[str, object]:
    output = plan["planned_values"]["outputs"][f"o{index}"]
    change = plan["output_changes"][f"o{index}"]
    assert isinstance(output, dict)
    assert isinstance(change, dict)
    if change["after_unknown"]:
        return {"unknown": True}
    resources = cast(
        "list[dict[str, dict[str, object]]]", plan["planned_values"]["root_module"]["resources"]
    )
    marks = next(each["sensitive_values"] for each in resources if str(each["name"]) == f"r{index}")
    return {
        "type": output.get("type", "dynamic"),
        "value": _text(output.get("value")),
        "sensitive": list(_marked(marks.get("input", False), ())),
    }


def _text(value: object) -> str:
    match value:
        case _Number():
            return str(value)
        case dict():
            return (
                "{"
                + ",".join(
                    f"{json.dumps(k, ensure_ascii=False)}:{_text(v)}" for k, v in value.items()
                )
                + "}"
            )
        case list():
            return "[" + ",".join(map(_text, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def _marked(marks: object, path: tuple[str | int, ...]) -> Iterator[list[str | int]]:
    match marks:
        case True:
            yield list(path)
        case dict():
            for key, part in marks.items():
                yield from _marked(part, (*path, key))
        case list():
            for place, part in enumerate(marks):
                yield from _marked(part, (*path, place))
        case _:
            pass


if __name__ == "__main__":
    main(sys.argv[1:])
