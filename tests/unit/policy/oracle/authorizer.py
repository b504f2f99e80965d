"""Kafka's own authorizer in a JVM, and random questions to it.

`python tests/unit/policy/oracle/authorizer.py` asks it anew and writes `answers.json`.
"""

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from kplan.cluster.request import AclBinding
from kplan.policy.authorizer import OPERATIONS, AccessRequest, AclIndex, AuthorizerRules

HERE = Path(__file__).parent
ANSWERS = HERE / "answers.json"
CASES, REQUESTS = 250, 40

PRINCIPALS = ("User:alice", "User:bob", "User:*", "Group:ops", "Group:*", "user:alice", "User:")
HOSTS = ("*", "10.0.0.1", "10.0.0.2", "10.0.0.0/8", "localhost")
ADDRESSES = ("10.0.0.1", "10.0.0.2", "127.0.0.1")
NAMES = (
    "*",
    "a",
    "ab",
    "abc",
    "a.b",
    "a.bc",
    "b",
    "**",
    "*a",
    "!",
    "+",
    "orders",
    "orders-eu",
    "é",
)


@dataclass(frozen=True, slots=True)
class Case:
    """ACLs on a cluster, and what is asked of it."""

    rules: AuthorizerRules
    acls: tuple[AclBinding, ...]
    requests: tuple[AccessRequest, ...]


def cases(seed: int, count: int = CASES) -> Iterator[Case]:
    """Make random cases; few names, so that patterns meet."""
    dice = random.Random(seed)
    for _ in range(count):
        sorts = dice.sample(sorted(OPERATIONS), dice.randint(1, 3))
        names = dice.sample(NAMES, dice.randint(2, 6))
        yield Case(
            AuthorizerRules(
                frozenset(dice.sample(("User:root", "User:bob", "Group:ops"), dice.randint(0, 1))),
                dice.random() < 0.3,
            ),
            tuple(dict.fromkeys(_acl(dice, sorts, names) for _ in range(dice.randint(0, 25)))),
            tuple(_request(dice, sorts, names) for _ in range(REQUESTS)),
        )


def _acl(dice: random.Random, sorts: Sequence[str], names: Sequence[str]) -> AclBinding:
    sort = dice.choice(sorts)
    return AclBinding(
        sort,
        dice.choice(names),
        dice.choice(("LITERAL", "PREFIXED")),
        dice.choice(PRINCIPALS),
        dice.choice(HOSTS) if dice.random() < 0.5 else "*",
        dice.choice(("ALL", *OPERATIONS["TOPIC"], *OPERATIONS[sort])),
        "ALLOW" if dice.random() < 0.75 else "DENY",
    )


def _request(dice: random.Random, sorts: Sequence[str], names: Sequence[str]) -> AccessRequest:
    sort = dice.choice(sorts)
    return AccessRequest(
        dice.choice(("User:alice", "User:bob", "User:root", "Group:ops", "user:alice", "User:x")),
        dice.choice(ADDRESSES),
        dice.choice(OPERATIONS[sort]),
        sort,
        dice.choice((*names, dice.choice(names) + dice.choice(names))),
    )


def ours(case: Case) -> list[bool]:
    """Answer as kplan does."""
    acls = AclIndex(case.acls, case.rules)
    return [acls.authorize(each).is_allowed for each in case.requests]


def theirs(given: Sequence[Case]) -> list[list[bool]]:
    """Ask StandardAuthorizer; takes a JDK, and the jars of the sandbox."""
    from kplan.sandbox.artifact import cache_folder, fetch_jars
    from kplan.sandbox.layout import DEFAULT_KAFKA_VERSION

    java = shutil.which("java")
    assert java is not None
    path = fetch_jars(DEFAULT_KAFKA_VERSION, cache_folder(), lambda _: None)
    asked = "".join(f"{line}\n" for case in given for line in _lines(case))
    done = subprocess.run(
        [java, str(HERE / "Oracle.java")],
        env={"CLASSPATH": ":".join(map(str, path))},
        input=asked,
        stdout=subprocess.PIPE,
        check=True,
        encoding="utf-8",
    )
    answers = iter(done.stdout.split())
    return [[next(answers) == "1" for _ in case.requests] for case in given]


def _lines(case: Case) -> Iterator[str]:
    yield "\t".join(
        (
            "R",
            ";".join(sorted(case.rules.super_users or ())),
            str(case.rules.allow_everyone).lower(),
        )
    )
    for acl in case.acls:
        yield "\t".join(("A", *astuple(acl)))
    for request in case.requests:
        yield "\t".join(("Q", *astuple(request)))


def main() -> None:
    """Write what Kafka says to the cases of the seed."""
    seed = 20
    answers = theirs(list(cases(seed)))
    rows = ["".join("01"[each] for each in row) for row in answers]
    ANSWERS.write_text(json.dumps({"seed": seed, "answers": rows}, indent=0) + "\n")
    told = [each for row in answers for each in row]
    sys.stdout.write(f"{len(told)} requests, {sum(told)} allowed\n")


if __name__ == "__main__":
    main()
