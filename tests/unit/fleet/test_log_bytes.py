"""What is new in a file, in whole lines, whatever it is cut into."""

import bz2
import gzip
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import pyarrow as pa
import pytest

from kplan.fleet.logs import content, files, known_end
from kplan.fleet.logs.content import (
    FileState,
    LogPath,
    Span,
    file_states,
    span_lines,
    stamp_of,
)
from kplan.fleet.logs.file_names import NamedFile
from kplan.fleet.logs.files import even_tasks, find_new_lines
from kplan.fleet.logs.known_end import HEAD_BYTES, KnownEnd, checksum, index_ends
from kplan.fleet.logs.lines import MARK
from kplan.fleet.logs.part import LogPart, log_id

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def tasks(*numbers: int) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_arrays([pa.array(numbers, pa.int64())], names=["id"])


def look(path: Path, *ends: KnownEnd, stamp: str = "") -> FileState | None:
    asked = [LogPath(7, str(path), stamp, "UTC 2", index_ends(ends))]
    rows = [row for batch in file_states(asked, 1)(tasks(0)) for row in batch.to_pylist()]
    return FileState(**rows[0]) if rows else None


def seen(path: Path, *ends: KnownEnd) -> FileState:
    found = look(path, *ends)
    assert found is not None
    return found


def end_of(state: FileState) -> KnownEnd:
    return KnownEnd(state.end, state.head_length, state.head, state.tail)


def read(*spans: Span) -> tuple[list[str], list[str]]:
    """Return the lines of part 0, and what is said of parts that could not be read."""
    rows = [
        (part, line.as_py())
        for batch in span_lines({0: spans})(tasks(0))
        for part, line in zip(batch.column(0).to_pylist(), batch.column(1), strict=True)
    ]
    return [line for part, line in rows if part >= 0], [line for part, line in rows if part < 0]


def whole(path: Path) -> Span:
    state = seen(path)
    return Span(0, str(path), 0, 0, state.end, state.end, state.head_length, state.head)


def pack_zstandard(held: bytes) -> bytes:
    return cast("bytes", pa.compress(held, codec="zstd", asbytes=True))


def test_a_file_that_grew_is_read_from_where_it_ended(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("a\nb\nhalf")
    first = seen(log)
    assert (first.place, first.length, first.start, first.end, first.known) == (7, 8, 0, 4, -1)
    log.write_text("a\nb\nhalf\nc\n")
    more = seen(log, KnownEnd(2, 2, "other", "other"), end_of(first))
    assert (more.start, more.end, more.known) == (4, 11, 1)
    lines, _ = read(Span(0, str(log), 4, 4, 11, 11, more.head_length, more.head))
    assert lines == ["half\n", "c\n"]


def test_a_file_that_was_written_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    """Also where only what is before the end, or nothing but the beginning, is the same."""
    log = tmp_path / "x.log"
    log.write_text("a\nb\n")
    end = end_of(seen(log))
    for text in ("c\nb\nd\n", "a\nc\nd\n", "a\n"):
        log.write_text(text)
        assert seen(log, end).start == 0


def test_an_unchanged_file_is_not_opened_and_one_that_is_gone_is_told(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("a\n")
    os.utime(log, ns=(0, 5_000_000))
    assert look(log, stamp=stamp_of(2, 5, "UTC 2")) is None
    assert look(log, stamp=stamp_of(2, 5, "Asia/Tokyo 2")) is not None
    assert "No such file" in seen(tmp_path / "none.log").failure


@pytest.mark.parametrize("pack", [lambda held: held, gzip.compress])
def test_the_first_new_lines_tell_whether_java_has_to_take_some_apart(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    log = tmp_path / ("x.log.gz" if pack is gzip.compress else "x.log")
    request = (
        b"[2026-11-01 10:00:00,123] INFO Principal = User:a is Allowed operation = READ from host ="
        b" 10.0.0.1 on resource = Topic:LITERAL:a for request = FETCH with resourceRefCount = 1\n"
    )
    for text, has_others in (
        (request * 9, 0),
        (request + b"Started.\n", 1),
        (request + b"[2026-11-01 10:00:00,123] INFO Started. (kafka.server.KafkaServer)\n", 0),
        (request.replace(b"[", b"").replace(b"123] INFO", b"123 CET INFO"), 1),
        (request + request[:-20], 0),
        (request[:-20], 0),
        (b"", 0),
    ):
        log.write_bytes(pack(text))
        assert seen(log).has_others == has_others, text
    plain = tmp_path / "y.log"
    plain.write_bytes(b"Started.\n")
    before = seen(plain)
    plain.write_bytes(b"Started.\n" + request)
    assert seen(plain, end_of(before)).has_others == 0


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_every_line_is_in_one_span_wherever_a_file_is_cut(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content, "BLOCK_BYTES", 4)
    text = "a\n\nbcdef\nghijklmnop\n\n\nq\n"
    log = tmp_path / "x.log"
    log.write_text(text)
    state, begins = seen(log), [*range(0, len(text), size), len(text)]
    spans = [
        Span(0, str(log), 0, begin, end, len(text), state.head_length, state.head)
        for begin, end in pairwise(begins)
    ]
    lines, told = read(*spans)
    assert lines == text.splitlines(keepends=True)
    assert told == []


@pytest.mark.parametrize("length", [16, 17, 200])
@pytest.mark.parametrize("size", [1, 5, 16, 30, 1000])
@pytest.mark.parametrize("end", ["", "\n", "\nb\n\nc\n"])
def test_of_a_line_that_is_too_long_the_beginning_counts_once_wherever_it_is_cut(
    tmp_path: Path, length: int, size: int, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is looked at no further than a line may be, by each task."""
    asked = 0

    def line_start(file: BinaryIO, at: int, last: int) -> int:
        nonlocal asked
        asked += last - at
        return found(file, at, last)

    found = content._line_start
    monkeypatch.setattr(content, "_line_start", line_start)
    monkeypatch.setattr(content, "BLOCK_BYTES", 4)
    monkeypatch.setattr(content, "MAX_LINE_BYTES", 16)
    log, text = tmp_path / "x.log", f"a\n{'x' * length}{end}"
    log.write_text(text)
    begins, head = [*range(0, len(text), size), len(text)], text.encode()
    spans = [
        Span(0, str(log), 0, begin, until, len(text), len(head), checksum(head))
        for begin, until in pairwise(begins)
    ]
    lines, told = read(*spans)
    assert lines == [
        each if len(each) <= 16 else f"{MARK}{each[:16]}" for each in text.splitlines(keepends=True)
    ]
    assert told == []
    assert asked <= len(text) + 16 * len(spans)


def test_a_file_of_zeros_is_read_a_bit_at_a_time(tmp_path: Path) -> None:
    """As after a power failure; also where it was packed."""
    log, held = tmp_path / "x.log", bytes(40 << 20)
    log.write_bytes(b"a\n" + held + b"\nb\n")
    packed = tmp_path / "x.log.1.gz"
    packed.write_bytes(gzip.compress(log.read_bytes(), 1))
    for path in (log, packed):
        batches = [*span_lines({0: [whole(path)]})(tasks(0))]
        assert max(each.nbytes for each in batches) < 5 << 20
        found = [each.as_py() for batch in batches for each in batch["line"]]
        assert found == ["a\n", MARK + "\0" * HEAD_BYTES, "b\n"]


def test_the_readable_part_of_a_packed_file_is_read_and_its_damage_told(tmp_path: Path) -> None:
    text = "".join(f"line {n} {os.urandom(8).hex()}\n" for n in range(2000))
    packed = gzip.compress(text[:9].encode()) + gzip.compress(text[9:].encode()) + b"\0\0"
    zstandard = b"".join(pack_zstandard(each.encode()) for each in (text[:9], text[9:], ""))
    whole_files = {"x.gz": packed, "x.bz2": bz2.compress(text.encode()), "x.zst": zstandard}
    for name, held in whole_files.items():
        log = tmp_path / name
        log.write_bytes(held)
        assert read(whole(log)) == (text.splitlines(keepends=True), [])
    more = pack_zstandard(os.urandom(99_000).hex().encode())
    for name, held in (
        ("x.gz", packed[: len(packed) // 2]),
        ("x.gz", packed[:-40] + b"x" * 40),
        ("x.gz", packed[:-2] + b"garbage"),
        ("x.zst", zstandard + b"garbage"),
        ("x.zst", zstandard + more[:-9]),
    ):
        (tmp_path / name).write_bytes(held)
        lines, (told,) = read(whole(tmp_path / name))
        assert lines[:900] == text.splitlines(keepends=True)[:900]
        assert told.startswith("cut: ")


def test_a_log_in_zstandard_has_the_checksum_of_what_it_held(tmp_path: Path) -> None:
    log, packed = tmp_path / "x.log", tmp_path / "x.log.1.zst"
    for text in ("", "a\n", "Started.\nPrincipal = a\n", "a\n" * HEAD_BYTES + "Principal = a\n"):
        log.write_text(text)
        packed.write_bytes(pack_zstandard(log.read_bytes()))
        plain, found = seen(log), seen(packed)
        assert found.failure == ""
        assert (found.head_length, found.head) == (plain.head_length, plain.head)
        assert found.first == plain.first


def test_a_file_that_is_replaced_or_cut_while_it_is_read_counts_for_nothing(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("a\n" * 9_000)
    span = whole(log)
    log.write_text("a\n" * 8_000)
    assert read(span)[1] == ["failed: it was cut while it was read"]
    log.write_text("b\n" * 9_000)
    assert read(span)[1] == ["failed: it was replaced while it was read"]
    log.unlink()
    assert read(span)[1] == ["failed: No such file or directory"]


@pytest.mark.parametrize(
    ("ending", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("zst", pack_zstandard)]
)
def test_a_packed_file_that_has_the_name_of_another_by_now_is_not_read_in_its_place(
    tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]
) -> None:
    """As where files with numbers are rotated meanwhile."""
    log = tmp_path / f"x.log.2.{ending}"
    log.write_bytes(pack(b"a\n" * 5000))
    span = whole(log)
    log.rename(tmp_path / f"x.log.3.{ending}")
    log.write_bytes(pack(b"b\n" * 5000))
    assert read(span) == ([], ["failed: it was replaced while it was read"])
    assert read(whole(log)) == (["b\n"] * 5000, [])


def test_tasks_are_even(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kplan.fleet.logs.files.TASK_BYTES", 10)
    spans = [Span(n, "x", 0, 0, size, size, 0, "") for n, size in enumerate((9, 1, 1, 1, 9, 9))]
    found = even_tasks(spans, lambda each: each.end)
    assert sorted(sum(each.end for each in task) for task in found) == [3, 9, 9, 9]
    assert sorted(each.part for task in found for each in task) == [*range(6)]


def test_a_packed_log_is_known_by_what_it_begins_with(tmp_path: Path) -> None:
    """It grew since it was read, and was packed then: it is read again, and is the same log."""
    log, packed = tmp_path / "x.log", tmp_path / "x.log.1.gz"
    log.write_text("Started.\nPrincipal = a\n")
    first = seen(log)
    packed.write_bytes(gzip.compress(b"Started.\nPrincipal = a\nc\n"))
    nameless = end_of(first)._replace(is_read_again=True)
    found = seen(packed, KnownEnd(2, 2, "other", "other", is_read_again=True), nameless)
    assert (found.start, found.known, found.first) == (0, 1, first.first)
    packed.write_bytes(gzip.compress(b"Started.\nPrincipal = b\n"))
    other = seen(packed, nameless)
    assert other.known == -1
    assert other.first not in {"", first.first}
    packed.write_bytes(b"no gzip")
    assert (seen(packed, nameless).known, seen(packed).first) == (-1, "")


def test_a_packed_log_has_the_checksum_of_what_it_held(tmp_path: Path) -> None:
    """So one without a request counts once, whatever name it gets."""
    log, packed = tmp_path / "x.log", tmp_path / "x.log.1.gz"
    for lines in (1, 2, HEAD_BYTES):
        log.write_text("a\n" * lines)
        packed.write_bytes(gzip.compress(log.read_bytes()))
        plain, found = seen(log), seen(packed)
        assert (found.head_length, found.head) == (plain.head_length, plain.head)


def test_a_file_that_begins_like_a_packed_log_is_not_taken_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Logs may have the same long beginning; of a packed one no end is known."""
    asked: list[LogPath] = []

    def looked(_: object, paths: Sequence[LogPath]) -> list[FileState]:
        asked.extend(paths)
        return []

    monkeypatch.setattr(files, "_read_states", looked)
    source = "file:/x.log.1.gz"
    packed = LogPart("eu", source, "9 1  5", log_id(source, "a"), head_length=9, head="a")
    for each in (packed, replace(packed, end=9)):
        named = NamedFile("eu", "file:/x.log", " 5")
        find_new_lines(cast("SparkSession", None), [named], [each])
    assert [len(each.ends) for each in asked] == [0, 1]


def test_a_log_that_is_to_be_read_again_is_the_same_log(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("a\nb\n")
    again = end_of(seen(log))._replace(is_read_again=True)
    found = seen(log, again)
    assert (found.start, found.end, found.known) == (0, 4, 0)
    log.write_text("b\nb\n")
    assert seen(log, again).known == -1


def test_a_file_is_found_among_many_logs_by_as_many_checksums_as_there_are_lengths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, computed = tmp_path / "x.log", 0

    def counted(held: bytes) -> str:
        nonlocal computed
        computed += 1
        return checksum(held)

    log.write_text("a\nb\n" * HEAD_BYTES)
    others = [
        KnownEnd(5_000 + n, (HEAD_BYTES, 9)[n % 2], f"{n}", f"{n}", is_read_again=True)
        for n in range(10_000)
    ]
    same = end_of(seen(log))._replace(is_read_again=True)
    packed = tmp_path / "x.log.1.gz"
    packed.write_bytes(gzip.compress(log.read_bytes()))
    monkeypatch.setattr(known_end, "checksum", counted)
    for path in (log, packed):
        computed = 0
        assert seen(path, *others, same).known == 10_000
        assert computed < 10


def test_the_ends_of_logs_are_sent_once_however_many_files_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a year of files by the hour there are many more logs in a store than on a disk."""
    sent: list[int] = []

    def looked(_: object, paths: Sequence[LogPath]) -> list[FileState]:
        sent.append(len(pickle.dumps(paths)))
        return []

    monkeypatch.setattr(files, "_read_states", looked)
    stored = [
        LogPart(
            "eu",
            f"file:/x.log.{n}",
            "9 1  5",
            log_id("file:/x.log", f"{n}"),
            end=9,
            head_length=9,
            head=f"{n}",
            tail=f"{n}",
        )
        for n in range(2_000)
    ]
    for count in (1, 200):
        found = [NamedFile("eu", f"file:/x.log.{n}", " 5") for n in range(count)]
        find_new_lines(cast("SparkSession", None), found, stored)
    assert sent[1] < 2 * sent[0]
