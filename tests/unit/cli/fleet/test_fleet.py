"""What a user may type wrongly at `kplan fleet`, told before any Spark is started."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from kplan.cli.run import run
from kplan.model.table import Figures
from kplan.workflow.fleet import fleet, maintain

REFUSED: Mapping[tuple[str, ...], str] = {
    ("inventory", "-master=local", "-remote=sc://x:1"): "-master cannot be combined with -remote.",
    ("access", "of", "billing"): 'billing" is not a principal. hint: Write it as User:billing.',
    ("access", "who-can", "READ"): "The usage is kplan fleet access who-can OPERATION RESOURCE.",
    ("audit", "ingest", "-removed=x"): "ingest does not support -removed and -since.",
    ("audit", "ingest", "-since=1h"): "ingest does not support -removed and -since.",
    ("audit", "usage", "-follow"): "kplan fleet audit usage does not support -follow.",
    ("audit", "ingest", "-follow", "-interval=0s"): "-interval must be 1s or more.",
    (
        "audit",
        "ingest",
        "-follow",
        "-output=x",
    ): "-follow does not support -json, -report and -output.",
    ("audit", "usage", "-since=30d"): "-since=30d is not a duration.",
    ("replay", "-since=9999999h", "x"): "-since=9999999h is longer than 100 years.",
    ("snapshot", "-explain"): "kplan fleet snapshot does not support -explain.",
    ("audit", "ingest", "-explain"): "kplan fleet audit ingest does not support -explain.",
    (
        "audit",
        "usage",
        "-explain",
        "-output=x",
        "-removed=y",
    ): "-explain cannot be combined with -output, -removed.",
    ("recommend", "-explain", "-hcl=x"): "-explain cannot be combined with -hcl.",
    ("vacuum", "-keep="): "-keep is empty. hint: Write it as 720h.",
    (
        "anomalies",
        "-until=yesterday",
    ): "-until=yesterday is not a day. hint: Write it as 2026-11-20.",
    (
        "anomalies",
        "-until=0001-01-05",
    ): "-until=0001-01-05 is before 1970-01-01. hint: Write it as 2026-11-20.",
    ("costs", "-months=0"): "'-months': Input should be greater than or equal to 1",
    ("trends", "-days=2"): "'-days': Input should be greater than or equal to 3",
    ("maintain", "-keep="): "-keep is empty. hint: Write it as 720h.",
}


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_what_means_nothing_is_refused_at_once(
    words: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["fleet", *words], {}) == 1
    told = " ".join(capfd.readouterr().err.replace("│", " ").split())
    assert REFUSED[words] in told


NAMING_FILES = (
    ["snapshot", "-save=out"],
    ["recommend", "-hcl=out"],
    ["audit", "usage", "-removed=out"],
)


@pytest.mark.parametrize("name", ["../evil", "", ".hidden", "a/b"])
def test_a_cluster_is_saved_only_to_a_file_of_its_name_in_the_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fleet.hcl").write_text(f'cluster "{name}" {{\n  snapshot = "a.jsonl"\n}}\n')
    for words in NAMING_FILES:
        assert run(["fleet", *words], {}) == 1
        told = capfd.readouterr().err
        assert f"Files cannot be named as clusters are: '{name}'." in told
        assert "KP139" in told
        assert "on fleet.hcl line 1" in told
        assert "-cluster=NAME" in told


def test_a_stream_needs_a_spark_whose_driver_is_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = 'cluster "a" {\n  snapshot = "a.jsonl"\n  audit = ["*.log"]\n}\n'
    (tmp_path / "fleet.hcl").write_text(text, encoding="utf-8")
    assert run(["fleet", "audit", "ingest", "-follow", "-remote=sc://x:1"], {}) == 1
    assert "-follow does not work through Spark Connect" in capfd.readouterr().err


ONCE = """\
Merged 1 ingest. Deleted 1 ingest merged before.
Deleted 1 run.
Deleted old requests of 1 log.
"""
OFTEN = """\
Merged 1,200 ingests. Deleted 1,200 ingests merged before.
Deleted 1,200 runs.
Deleted old requests of 1,200 logs.
"""


@pytest.mark.parametrize(("count", "told"), [(1, ONCE), (1200, OFTEN)])
def test_maintenance_says_how_much_it_did(
    count: int, told: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    removed = maintain.VacuumResult(count, count)
    result = maintain.MaintainResult(count, count, removed)
    monkeypatch.setattr(maintain, "maintain_store", lambda *_: result)
    monkeypatch.setattr(maintain, "vacuum_store", lambda *_: removed)
    assert run(["fleet", "maintain", "-keep-logs=720h"], {}) == 0
    assert capfd.readouterr().out == told
    assert run(["fleet", "vacuum", "-keep-logs=720h"], {}) == 0
    assert capfd.readouterr().out == told.partition("\n")[2]


@pytest.mark.parametrize(
    ("findings", "code"),
    [(set(), 0), ({"stateless"}, 1), ({"unread"}, 1), ({"problem"}, 1), ({"drift", "unread"}, 2)],
)
def test_drift_that_cannot_be_determined_is_an_error(
    findings: set[str], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Figures("Drift of the fleet", (), {}, findings=frozenset(findings))
    monkeypatch.setattr(fleet, "plan_fleet", lambda *_, is_drift: found if is_drift else None)
    assert run(["fleet", "drift"], {}) == code
