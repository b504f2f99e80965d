"""`poe versions`: one table of the contract suite and the example on each version of Kafka.

    python -m tests.versions [--write] [VERSION...]

A version is 3.9.1, or 3.9.1+zookeeper. Tests of what a version lacks are skipped; the table names
the lacks, as `tests/capability.py` has them. Ends with 1 where a test failed, or was skipped for
another reason. With --write no test is run: one broker of each version is asked what it offers, and
the table in `kplan help versions` is replaced.
"""

import os
import re
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from kplan.sandbox.java import find_java
from kplan.sandbox.layout import DEFAULT_KAFKA_VERSION, SandboxSpec
from kplan.sandbox.lifecycle import temporary_sandbox
from tests.brokers import KAFKA_VARIABLE
from tests.capability import TOLD, read_offer

VERSIONS = ("2.8.2", "3.3.2", "3.6.2", "3.9.1", "3.9.1+zookeeper", DEFAULT_KAFKA_VERSION)
"""The oldest, one of each era, the last with ZooKeeper in both modes, and the newest."""

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "kplan" / "cli" / "help" / "versions.md"
SUITE = ("tests/contract", "tests/e2e/test_command_three_brokers.py")
WITHOUT_BROKER = (
    "test_authorizer_oracle.py",
    "test_connect_contract.py",
    "test_registry_contract.py",
    "test_state_in_buckets.py",
    "test_state_store_contract.py",
)
"""Files that no version of a broker decides."""
SLOW = ("test_ten_kills_at_random_moments", "test_a_broker_that_is_killed_and_comes_back")
"""Tests of faults, which take more time than all others together."""

TEST_TIMEOUT_S = 120
PAGE_HEADER = "| Kafka | metadata | Java | what it lacks |"
HEADER = "| Kafka | metadata | Java | tests | passed | skipped | failed | what it lacks |"
LACK = re.compile(r"Kafka \S+(?: with ZooKeeper)? has no (.+) \(since (.+)\)")


@dataclass(frozen=True, slots=True)
class Row:
    """What became of the tests on one version; `others` are skips for other reasons."""

    version: str
    java: str
    tests: int
    failed: int
    lacks: tuple[str, ...]
    others: tuple[str, ...]
    skipped: int

    def __str__(self) -> str:
        """Render the line of the table."""
        passed = self.tests - self.failed - self.skipped
        return _line(
            self.version, self.java, self.tests, passed, self.skipped, self.failed, self.lacks
        )


def _line(version: str, java: str, *cells: object) -> str:
    """Render a line, whose last cell names what is lacking."""
    *counts, lacks = cells
    number, _, mode = version.partition("+")
    store = "ZooKeeper" if mode or number.startswith("2.") else "KRaft"
    named = "; ".join(lacks) or "nothing"  # type: ignore[arg-type] # names
    return f"| {' | '.join(map(str, (number, store, java, *counts, named)))} |"


def main(arguments: Sequence[str]) -> int:
    """Run the suite on each version, print the table, and return the exit code."""
    parser = ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("versions", nargs="*", metavar="VERSION", help="all if none is given")
    parser.add_argument("--write", action="store_true", help="replace the table of the help page")
    given = parser.parse_args(arguments)
    if given.write:
        lines = [page_line(version) for version in given.versions or VERSIONS]
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), lines), encoding="utf-8")
        return 0
    rows = []
    for version in given.versions or VERSIONS:
        rows.append(run_suite(version))
        sys.stderr.write(f"{rows[-1]}\n")
    sys.stdout.write("\n".join(table(rows)) + "\n")
    for row in rows:
        for reason in row.others:
            sys.stderr.write(f"{row.version}: skipped: {reason}\n")
    return 1 if any(row.failed or row.others for row in rows) else 0


def run_suite(version: str) -> Row:
    """Run the tests on a version; what pytest says goes to stderr."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-m", "broker"]
        command += ["-n", "3", "--dist", "loadfile", "--no-loadscope-reorder"]
        command += [f"--timeout={TEST_TIMEOUT_S}", f"--junitxml={report}"]
        command += [f"--ignore=tests/contract/{each}" for each in WITHOUT_BROKER]
        command += ["-k", " and ".join(f"not {each}" for each in SLOW)]
        environ = {**os.environ, KAFKA_VARIABLE: version}
        subprocess.run(
            [*command, *SUITE], cwd=ROOT, env=environ, stdout=sys.stderr.fileno(), check=False
        )
        return read_report(version, report)


def read_report(version: str, report: Path) -> Row:
    """Count the outcomes in pytest's report."""
    tree = ET.parse(report).getroot()  # noqa: S314 - our own file
    cases = list(tree.iter("testcase"))
    reasons = [each.attrib.get("message", "") for case in cases for each in case.iter("skipped")]
    failed = sum(
        case.find("failure") is not None or case.find("error") is not None for case in cases
    )
    return Row(
        version,
        java_of(version),
        len(cases),
        failed,
        tuple(
            sorted({f"{found[1]} ({found[2]})" for found in map(LACK.fullmatch, reasons) if found})
        ),
        tuple(sorted({each for each in reasons if not LACK.fullmatch(each)})),
        len(reasons),
    )


def table(rows: Iterable[Row]) -> list[str]:
    """Render the table as lines."""
    return [HEADER, "|---|---|---|---|---|---|---|---|", *map(str, rows)]


def page_line(version: str) -> str:
    """Ask a broker of a version what it offers, and render the line of the help page."""
    number, _, mode = version.partition("+")
    sys.stderr.write(f"{version}\n")
    with temporary_sandbox(SandboxSpec(kafka_version=number, zookeeper=bool(mode))) as sandbox:
        offer = read_offer(sandbox)
    lacks = [f"{each.name} ({each.since})" for each in TOLD if not each.is_in(offer)]
    return _line(version, java_of(version), lacks)


def java_of(version: str) -> str:
    """Return the version of the Java that a version of Kafka runs on here."""
    spec = SandboxSpec(kafka_version=version.partition("+")[0])
    return find_java(spec.release).version


def with_table(page: str, lines: Sequence[str]) -> str:
    """Replace the rows of the table of a page."""
    before, rest = page.split(PAGE_HEADER, 1)
    after = re.sub(r"\A\n(?:[^\n]*\|\n)+", "", rest)
    return "\n".join([f"{before}{PAGE_HEADER}", "|---|---|---|---|", *lines, after])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
