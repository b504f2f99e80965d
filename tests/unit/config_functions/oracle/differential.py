"""Hold random calls of functions against `terraform`, and print what differs.

    python -m tests.unit.config_functions.oracle.differential [SEED [COUNT]]

Each call is written from the signatures in `signatures.json`, with arguments that mostly fit. What
is found and meant to be kept becomes a line in `expressions/`. Needs the terraform binary.
"""

import json
import random
import sys
from pathlib import Path

from tests.unit.config_functions.oracle.generate import ask
from tests.unit.config_functions.test_oracle import outcome, wanted

HERE = Path(__file__).parent
TEXTS = """a|abc||Hello World|é|a,b,c|1|12.5|true| x |a.b-c_d|x
y|[a-z]+|%s|%d|10.0.0.0/8|2024-02-29T12:30:45Z|1h30m|{"a":1}|YQ==|/a/|日本|ß|👨‍👩|UTF-8|-|0|key|a/b/c"""
NUMBERS = ["0", "1", "2", "3", "-1", "10", "1.5", "-2.5", "100", "0.1", "16", "1e3", '"5"', "255"]
BOOLS = ["true", "false", '"true"']
KEYS = ["a", "b", "c", "key"]
OUTSIDE = (
    "file",
    "path",
    "template",
    "uuid",
    "timestamp",
    "bcrypt",
    "rsa",
    "base64gzip",
    "abspath",
)


class Writer:
    """Writes random expressions."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        signatures = json.loads((HERE / "signatures.json").read_text(encoding="utf-8"))
        names = [name for name in signatures if not any(word in name for word in OUTSIDE)]
        self._signatures = {name: signatures[name] for name in names}

    def call(self) -> str:
        """Write a call of some function."""
        name = self._random.choice(list(self._signatures))
        signature = self._signatures[name]
        types = [each["type"] for each in signature.get("parameters", [])]
        if "variadic_parameter" in signature:
            types += [signature["variadic_parameter"]["type"]] * self._random.randint(0, 3)
        return f"{name}({', '.join(self._argument(each) for each in types)})"

    def _argument(self, of: object) -> str:
        if self._random.random() < 0.05:
            return self._value(2)
        match of:
            case "string":
                return json.dumps(self._random.choice(TEXTS.split("|")))
            case "number":
                return self._random.choice(NUMBERS)
            case "bool":
                return self._random.choice(BOOLS)
            case ["map", element]:
                keys = self._random.sample(KEYS, self._random.randint(0, 3))
                return "{" + ", ".join(f"{key} = {self._argument(element)}" for key in keys) + "}"
            case ["list" | "set" as kind, element]:
                items = [self._argument(element) for _ in range(self._random.randint(0, 4))]
                text = f"[{', '.join(items)}]"
                return text if self._random.random() < 0.7 else f"to{kind}({text})"
            case _:
                return self._value(2)

    def _value(self, depth: int) -> str:
        if depth == 0 or self._random.random() < 0.55:
            return self._argument(self._random.choice(["string", "number", "bool"]))
        return self._random.choice(
            [
                "null",
                f"sensitive({self._value(depth - 1)})",
                f"[{', '.join(self._value(depth - 1) for _ in range(self._random.randint(0, 3)))}]",
                f"{{a = {self._value(depth - 1)}, b = {self._value(depth - 1)}}}",
                self._argument(["list", "string"]),
                self._argument(["set", "number"]),
                f"tomap({self._argument(['map', 'string'])})",
            ]
        )


def main(seed: int, count: int) -> None:
    """Print every call of which kplan and Terraform think differently."""
    writer = Writer(seed)
    answers = ask(list(dict.fromkeys(writer.call() for _ in range(count))))
    different = 0
    for answer in answers:
        if "unknown" in answer or "infinite" in answer:
            continue
        got = outcome(str(answer["expr"]))
        recorded = wanted(answer, got)
        if got != recorded:
            different += 1
            print(answer["expr"], got, recorded, sep="\n    ")  # noqa: T201 - a script tells
    print(f"{different} of {len(answers)} differ")  # noqa: T201 - a script tells


if __name__ == "__main__":
    main(*(int(each) for each in [*sys.argv[1:], *["1", "500"][len(sys.argv) - 1 :]]))
