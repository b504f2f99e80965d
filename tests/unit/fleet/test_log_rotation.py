"""Logs that grow and are rotated, packed, copied and truncated at random between ingests."""

import gzip
import random
import re
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import pyarrow as pa
import pytest

from kplan.fleet.logs import compaction, content, files, known_end, part
from kplan.fleet.logs.compaction import (
    chosen_run,
    closed_log,
    known_logs,
    merge_log,
    small_attempts,
)
from kplan.fleet.logs.content import FileState, LogPath, file_states, span_lines
from kplan.fleet.logs.counts import count_parts
from kplan.fleet.logs.file_names import NamedFile
from kplan.fleet.logs.files import find_new_lines
from kplan.fleet.logs.known_end import HEAD_BYTES
from kplan.fleet.logs.outcome import PartStart, read_parts
from kplan.fleet.logs.part import LogPart, live_logs
from kplan.fleet.logs.store import MERGED
from tests.log_writer import BANNER, Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_REQUEST = re.compile(r"\[(?P<at>[^]]{23})\] INFO Principal = User:a (?P<number>request \d+);\s*\Z")
_OTHER = re.compile(r"\[[^]]{23}\] INFO |===> ")


def tasks(*numbers: int) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_arrays([pa.array(numbers, pa.int64())], names=["id"])


def look(_: object, paths: Sequence[LogPath]) -> list[FileState]:
    """Look at files without Spark."""
    rows = [row for batch in file_states(paths, 1)(tasks(0)) for row in batch.to_pylist()]
    return [FileState(**row) for row in rows]


class Attempt(NamedTuple):
    """What an ingest read: its parts, and the lines of each by number."""

    parts: Sequence[LogPart]
    lines: dict[int, Counter[str]]


class Ingests:
    """A store in memory: the parts of logs, and the lines that are kept of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.parts: list[LogPart] = []
        self.rows: dict[tuple[str, int], Counter[str]] = {}
        self.seen: set[str] = set()
        """Requests that were in a file when it was read."""
        self.settings = " 5"
        self._attempts = 0

    def read(self) -> Attempt:
        """Read what is new in all files, and keep nothing yet.

        What is written later is at least a millisecond younger, as after an ingest on Spark: files
        of one name and length are told apart by that.
        """
        clock = self.folder.with_name(f"{self.folder.name}.clock")
        began_ms = time.time_ns() // 1_000_000
        paths = sorted(self.folder.iterdir())
        named = [NamedFile("eu", f"file:{each}", self.settings) for each in paths]
        new = find_new_lines(cast("SparkSession", None), named, self.parts)
        lines: dict[int, Counter[str]] = {}
        starts: dict[int, str] = {}
        reasons: dict[int, str] = {}
        for batch in span_lines({0: new.spans})(tasks(0)):
            for number, line in zip(batch["part"].to_pylist(), batch["line"], strict=True):
                text = bytes(line.as_buffer()).decode(errors="replace")
                if number < 0:
                    reasons[number] = text
                    continue
                found = _REQUEST.match(text)
                lines.setdefault(number, Counter())[found["number"] if found else text] += 1
                if found:
                    first = f"{found['at']}\n{found['number']}"
                    starts[number] = min(first, starts.get(number, first))
        begun = [
            PartStart(number, starts.get(number), *_counts(own), "", "", None)
            for number, own in lines.items()
        ]
        begun += [PartStart(n, None, 0, 0, 0, "", "", why) for n, why in reasons.items()]
        kept, _ = read_parts(new, begun)
        kept += [new.removals[each.part] for each in kept if each.part in new.removals]
        for path in paths:
            self.seen |= set(_requests(path))
        clock.touch()
        while clock.stat().st_mtime_ns // 1_000_000 <= began_ms:
            clock.touch()
        return Attempt(kept, lines)

    def keep(self, attempt: Attempt) -> None:
        """Keep what was read."""
        self._commit(attempt.parts, attempt.lines)

    def compact(self, *, are_others_read: bool = False) -> None:
        """Put together what there is of each log, and remove that, as `LogStore` does.

        What others may be reading stays.
        """
        every = [closed_log(each) for each in live_logs(self.parts) if each.parts]
        if len(attempts := small_attempts(every)) < 2:
            return
        runs = [(each, chosen_run(each, attempts)) for each in every]
        logs = [run for _, run in runs if run is not None]
        merged = [merge_log(each, at) for at, each in enumerate(logs)]
        lines = {at: self._lines(log.parts) for at, log in enumerate(logs)}
        counted = ((at, own.total(), 0, "", "") for at, own in lines.items())
        merged = count_parts(merged, counted)
        staying = [each for each, run in runs if run is None]
        known = known_logs(self.parts, logs, merged, staying)
        self._commit([*merged, *known], lines, MERGED)
        if are_others_read:
            return
        live = {part.attempt for log in live_logs(self.parts) for part in log.parts}
        last = self.parts[-1].attempt
        self.parts = [each for each in self.parts if each.attempt in {last, *live}]

    def _commit(
        self, parts: Sequence[LogPart], lines: dict[int, Counter[str]], prefix: str = ""
    ) -> None:
        self._attempts += 1
        attempt, at = (
            f"{prefix}{self._attempts:04}",
            f"2026-11-01T10:00:00.{self._attempts:06}+00:00",
        )
        self.parts += [replace(each, attempt=attempt, at=at) for each in parts]
        self.rows |= {(attempt, number): own for number, own in lines.items()}

    def _lines(self, parts: Sequence[LogPart]) -> Counter[str]:
        found = Counter[str]()
        for each in parts:
            if each.lines or each.others:
                found += self.rows.get((each.attempt, each.part), Counter())
        return found

    def counts(self) -> Counter[str]:
        """Count each line of the logs."""
        return self._lines([part for log in live_logs(self.parts) for part in log.parts])


def _counts(own: Counter[str]) -> tuple[int, int, int]:
    others = sum(n for text, n in own.items() if _OTHER.match(text))
    malformed = sum(
        n for text, n in own.items() if not _OTHER.match(text) and not text.startswith("request ")
    )
    return own.total() - others, malformed, others


def _requests(path: Path) -> Iterator[str]:
    held = path.read_bytes()
    if path.suffix == ".gz":
        codec = zlib.decompressobj(31)
        held = codec.decompress(held)
        if not codec.eof:
            held = held[: held.rfind(b"\n") + 1]
    for line in held.decode(errors="replace").splitlines(keepends=True):
        if found := _REQUEST.match(line):
            yield found["number"]


def follow(folder: Path, seed: int, steps: int = 40) -> None:
    """Let a broker write and its log be rotated at random, and ingest in between.

    Some ingests are kept after the next one, as those of a second reader.
    """
    chance = random.Random(seed)
    broker, ingests = Broker(folder, chance), Ingests(folder)
    slow: list[Attempt] = []
    has_two = chance.random() < 0.3 and not broker.is_buffered
    for _ in range(steps):
        broker.act()
        what = chance.choices(["ingest", "compact", "slow", "zone", ""], [8, 2, 2, 0.4, 7.6])[0]
        broker.history.append(what)
        if what == "ingest":
            ingests.keep(ingests.read())
            while slow:
                ingests.keep(slow.pop())
        elif what == "compact":
            ingests.compact(are_others_read=has_two)
        elif what == "slow" and has_two:
            slow.append(ingests.read())
        elif what == "zone":
            ingests.settings = chance.choice([" 5", "Europe/Berlin 6"])
        if what in {"ingest", "compact"} and not slow and not broker.is_copied:
            check(broker, ingests, has_two=has_two)
    broker.truncate()
    ingests.keep(ingests.read())
    check(broker, ingests, has_two=has_two)


def check(broker: Broker, ingests: Ingests, *, has_two: bool) -> None:
    """Compare what counts with the requests that were in files when these were read."""
    found = ingests.counts()
    counts = {text: n for text, n in found.items() if text.startswith("request ")}
    assert counts == dict.fromkeys(ingests.seen, 1), (broker.style, broker.history)
    if broker.is_exact and not has_two:
        twice = [text for text, n in found.items() if " other " in text and n > 1]
        assert [each for each in twice if each.endswith("\n")] == [], broker.history


@pytest.fixture(autouse=True)
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_read_states", look)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("head", [200, HEAD_BYTES])
def test_each_request_counts_once_whatever_becomes_of_its_file(
    tmp_path: Path, seed: int, head: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (content, known_end, part):
        monkeypatch.setattr(module, "HEAD_BYTES", head)
    monkeypatch.setattr(compaction, "SMALL_LINES", seed % 3 * 20)
    follow(tmp_path, seed)


def request(number: int, second: int = 0) -> str:
    return f"[2026-11-01 10:00:{second:02},000] INFO Principal = User:a request {number};\n"


def counts_after(ingests: Ingests) -> dict[str, int]:
    """Ingest, and count the requests by number."""
    ingests.keep(ingests.read())
    return {k: n for k, n in ingests.counts().items() if k.startswith("request ")}


@pytest.mark.parametrize("before", ["", "[2026-11-01 10:00:00,000] INFO other 1\n", BANNER * 99])
@pytest.mark.parametrize("more", ["", "\n", "\n" + request(2)])
def test_a_request_in_an_open_last_line_counts_once_when_its_file_is_renamed_or_packed(
    tmp_path: Path, before: str, more: str
) -> None:
    log, ingests = tmp_path / "x.log", Ingests(tmp_path)
    log.write_text(before + request(1).rstrip())
    assert counts_after(ingests) == {"request 1": 1}
    with log.open("a") as file:
        file.write(more)
    log = log.rename(tmp_path / "x.log.1")
    (tmp_path / "x.log").write_text(request(3).rstrip())
    expected = {"request 1": 1, "request 3": 1, **({"request 2": 1} if request(2) in more else {})}
    assert counts_after(ingests) == expected
    (tmp_path / "x.log.2.gz").write_bytes(gzip.compress(log.read_bytes()))
    log.unlink()
    assert counts_after(ingests) == expected


@pytest.mark.parametrize("before", ["", "[2026-11-01 10:00:00,000] INFO other 1\n", "cut off\n"])
@pytest.mark.parametrize("copied_after", ["ingest", "line"])
def test_a_request_in_an_open_last_line_counts_once_where_its_file_is_copied_and_not_truncated(
    tmp_path: Path, before: str, copied_after: str
) -> None:
    log, ingests = tmp_path / "x.log", Ingests(tmp_path)
    log.write_text(before + request(1).rstrip())
    if copied_after == "ingest":
        assert counts_after(ingests) == {"request 1": 1}
    (tmp_path / "x.log.1").write_bytes(log.read_bytes())
    assert counts_after(ingests) == {"request 1": 1}
    ingests.compact()
    assert ingests.counts()["request 1"] == 1
    log.write_text("")
    assert counts_after(ingests) == {"request 1": 1}


@pytest.mark.parametrize("number", range(1, 6))
def test_a_request_in_an_open_last_line_counts_once_when_others_begin_like_its_file(
    tmp_path: Path, number: int
) -> None:
    ingests = Ingests(tmp_path)
    for each in range(1, 6):
        text = BANNER * 99 + (request(1).rstrip() if each == number else "")
        (tmp_path / f"x.log.{each}").write_text(text)
    assert counts_after(ingests) == {"request 1": 1}
    for each in range(5, 0, -1):
        (tmp_path / f"x.log.{each}").rename(tmp_path / f"x.log.{each + 1}")
    assert counts_after(ingests) == {"request 1": 1}


def test_logs_that_begin_with_the_same_settings_are_not_one(tmp_path: Path) -> None:
    """What a broker prints when it starts has the word principal, and no time."""
    ingests = Ingests(tmp_path)
    (tmp_path / "x.log").write_text(BANNER + request(1))
    assert counts_after(ingests) == {"request 1": 1}
    (tmp_path / "x.log").rename(tmp_path / "x.log.1")
    (tmp_path / "x.log").write_text(BANNER + request(2, 1) + request(3, 2))
    assert counts_after(ingests) == {"request 1": 1, "request 2": 1, "request 3": 1}


def test_packed_logs_with_the_same_long_beginning_are_not_one(tmp_path: Path) -> None:
    ingests = Ingests(tmp_path)
    (tmp_path / "x.log").write_text(BANNER * 99 + request(1))
    assert counts_after(ingests) == {"request 1": 1}
    packed = gzip.compress((BANNER * 99 + request(2, 1) + request(3, 2)).encode())
    (tmp_path / "x.log.1.gz").write_bytes(packed)
    assert counts_after(ingests) == {"request 1": 1, "request 2": 1, "request 3": 1}


def test_a_packed_log_is_not_read_again_when_it_is_renamed_unless_it_is_to_be_read_otherwise(
    tmp_path: Path,
) -> None:
    ingests, log = Ingests(tmp_path), tmp_path / "x.log.1.gz"
    log.write_bytes(gzip.compress(request(1).encode()))
    assert counts_after(ingests) == {"request 1": 1}
    for number in (2, 3):
        log = log.rename(tmp_path / f"x.log.{number}.gz")
        attempt = ingests.read()
        assert attempt.lines == {}
        ingests.keep(attempt)
        ingests.compact()
        (found,) = live_logs(ingests.parts)
        assert (found.last.source, found.lines) == (f"file:{log}", 1)
    ingests.settings = "Europe/Berlin 6"
    log.rename(tmp_path / "x.log.4.gz")
    assert counts_after(ingests) == {"request 1": 1}
    assert {each.settings for log in live_logs(ingests.parts) for each in log.parts} == {
        "Europe/Berlin 6"
    }
