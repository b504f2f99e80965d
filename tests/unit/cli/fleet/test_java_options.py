"""How Java is started for a store that is not small; this Java only writes down what it is told."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from kplan.cli.run import run
from kplan.fleet.spark.session import CODEGEN_MIN_BYTES

READS_ONCE = (
    ("inventory",),
    ("lint",),
    ("access", "of", "User:billing"),
    ("access", "who-can", "READ", "TOPIC:shop"),
    ("drift", "-since=before"),
    ("audit", "usage"),
)
READS_MORE = (
    *(("plan",), ("drift",), ("costs",), ("trends",), ("anomalies",), ("recommend",)),
    *(("history", "shop"), ("report", "-html=page.html")),
)


@pytest.mark.parametrize("words", READS_ONCE, ids=" ".join)
def test_java_compiles_quickly_where_rows_are_read_once(
    words: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "-XX:TieredStopAtLevel=1" in java_arguments(words, tmp_path, monkeypatch)


@pytest.mark.parametrize("words", READS_MORE, ids=" ".join)
def test_java_compiles_for_long_where_rows_are_read_often(
    words: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "-XX:TieredStopAtLevel=1" not in java_arguments(words, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("logs", "is_quick"),
    [
        (["logs/*.log", "/var/log/kafka/authorizer.log"], True),
        (["file:///var/log/*.gz"], True),
        (["logs/*.log", "s3a://logs/*.log"], False),
        (["logs/*.lz4"], False),
        (["kafka://audit"], False),
    ],
)
def test_java_compiles_quickly_where_python_reads_all_of_the_logs(
    logs: Sequence[str], *, is_quick: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = java_arguments(("audit", "ingest"), tmp_path, monkeypatch, logs)
    assert ("-XX:TieredStopAtLevel=1" in arguments) is is_quick


def java_arguments(
    words: Sequence[str], folder: Path, monkeypatch: pytest.MonkeyPatch, logs: Sequence[str] = ()
) -> list[str]:
    """Return what a command has Java started with."""
    told, java = folder / "arguments", folder / "home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    asked = 'if [ "$1" = -version ]; then echo \'openjdk version "17.0.15"\' >&2; exit 0; fi'
    java.write_text(f'#!/bin/sh\n{asked}\nprintf "%s\\n" "$@" > {told}\nexit 1\n', encoding="utf-8")
    java.chmod(0o700)
    store = folder / "tables"
    store.mkdir()
    (store / "rows").write_bytes(bytes(CODEGEN_MIN_BYTES + 1))
    (folder / "fleet.hcl").write_text(
        'store {\n  path = "tables"\n}\ncluster "shop" {\n  snapshot = "shop.jsonl"\n'
        f"  audit = {json.dumps(logs)}\n}}\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(folder)
    monkeypatch.setenv("JAVA_HOME", str(java.parents[1]))
    assert run(["fleet", *words], {}) == 1
    return told.read_text(encoding="utf-8").splitlines()
