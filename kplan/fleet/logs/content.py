"""The bytes of log files, read on the executors: what is new in each file, in whole lines.

Spark's own reader of text tells neither where a file ended nor that a packed one is cut, and
cannot begin inside of a file. What it must read is in `log_files.py`.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, get_type_hints

from kplan.fleet.logs.known_end import (
    HEAD_BYTES,
    KnownEnds,
    checksum,
    find_known_end,
    head_checksum,
    packed_ends,
    tail_checksum,
)
from kplan.fleet.logs.lines import add_up, are_known
from kplan.fleet.logs.packed import BLOCK_BYTES, decompress, is_packed

if TYPE_CHECKING:
    import pyarrow as pa

CUT, FAILED = "cut: ", "failed: "
"""How the line of a part begins that says why not all of it was read."""
_REPLACED = f"{FAILED}it was replaced while it was read"
LINE_SCHEMA = "part int, line string"
MAX_LINE_BYTES, LONG_LINE = 16 << 20, b"\x01"
"""What a line may have, more than a block, and the mark of a longer one (`lines.MARK`): it is no
request, whatever it begins with."""
SAMPLE_BYTES = 64 << 10
"""How much of what is new is looked at to tell who takes the lines apart."""
LINE_LIMIT = {"mapreduce.input.linerecordreader.line.maxlength": MAX_LINE_BYTES}
"""Of Spark's own reader, which leaves out longer lines: else it has each as a whole."""
_PRINCIPAL = re.compile(rb'rincipal\\*"?\s*(?:[=:]|\\{1,2}u003d|&#61;)')
"""What a request names whose it is with; settings that a broker prints have names with the word."""


class LogPath(NamedTuple):
    """A file to look at. `stamp` is how it was (`stamp_of`), `ends` are those it may go on from."""

    place: int
    path: str
    stamp: str
    settings: str
    ends: KnownEnds


class FileState(NamedTuple):
    """What is new in a file: from `start` up to `end`, the end of its last whole line.

    `known` is the place of the end of the log that it is, also where that is read from its
    beginning again; -1 is that it is another. `first` is a checksum of its first request, "" where
    there is none, or it was read before. `has_others` is 1 where Java has to take lines apart, as
    far as the first new ones tell. With `failure` it could not be looked at.
    """

    place: int
    length: int = 0
    changed_ms: int = 0
    start: int = 0
    end: int = 0
    known: int = -1
    head_length: int = 0
    head: str = ""
    tail: str = ""
    first: str = ""
    has_others: int = 0
    failure: str = ""


STATE_SCHEMA = ", ".join(
    f"{name} {'string' if kind is str else 'long'}"
    for name, kind in get_type_hints(FileState).items()
)


class Span(NamedTuple):
    """Bytes of a file to read: the lines that begin in them, and none that end after `limit`.

    A part is read in several spans; the first one begins at `start`.
    """

    part: int
    path: str
    start: int
    begin: int
    end: int
    limit: int
    head_length: int
    head: str


def stamp_of(length: int, changed_ms: int, settings: str) -> str:
    """Return what differs when a log is to be looked at again."""
    return f"{length} {changed_ms} {settings}"


# ---- looking at files


def file_states(
    paths: Sequence[LogPath], tasks: int
) -> Callable[[Any], Iterator["pa.RecordBatch"]]:
    """Return the work of tasks that look at files: STATE_SCHEMA; unchanged ones are left out."""
    hints = get_type_hints(FileState)

    def work(batches: Any) -> Iterator["pa.RecordBatch"]:  # noqa: ANN401 - of Arrow
        import pyarrow as pa  # noqa: PLC0415 - on the executor

        kinds = [pa.string() if each is str else pa.int64() for each in hints.values()]
        for batch in batches:
            for task in batch.column(0).to_pylist():
                found = [_file_state(each) for each in paths[task::tasks]]
                rows = [each for each in found if each is not None]
                columns = zip(*rows, strict=True) if rows else [()] * len(hints)
                arrays = [pa.array(each, k) for each, k in zip(columns, kinds, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, names=[*hints])

    return work


def _file_state(log: LogPath) -> FileState | None:
    try:
        with Path(log.path).open("rb") as file:
            result = os.fstat(file.fileno())
            length, changed_ms = result.st_size, result.st_mtime_ns // 1_000_000
            if stamp_of(length, changed_ms, log.settings) == log.stamp:
                return None
            found = FileState(log.place, length, changed_ms, end=length)
            if is_packed(log.path):
                held = _decompress_head(log.path, file)
                return found._replace(
                    known=_packed_place(log, file, held),
                    head_length=len(held),
                    head=checksum(held),
                    first=_first_request(_packed_blocks(log.path, file)),
                    has_others=_has_others(held),
                )
            known, start = find_known_end(file, length, log.ends)
            end = _last_line_end(file, start, length)
            head_length = min(HEAD_BYTES, length)
            file.seek(start)
            sample = file.read(min(SAMPLE_BYTES, end - start))
            return found._replace(
                start=start,
                end=end,
                known=known,
                head_length=head_length,
                head=head_checksum(file, head_length),
                tail=tail_checksum(file, end),
                first="" if start else _first_request(_plain_blocks(file)),
                has_others=_has_others(sample),
            )
    except OSError as failure:
        return FileState(log.place, failure=failure.strerror or str(failure))


def _packed_place(log: LogPath, file: BinaryIO, held: bytes) -> int:
    """Find the log without a request that was packed, by its bytes up to its end; -1 is none."""
    for place, each in packed_ends(held, log.ends):
        left, tail = each.end, b""
        file.seek(0)
        for block in decompress(log.path, file, []):
            tail = (tail + block[:left])[-HEAD_BYTES:]
            left -= min(left, len(block))
            if not left:
                break
        if not left and checksum(tail) == each.tail:
            return place
    return -1


def _decompress_head(path: str, file: BinaryIO) -> bytes:
    held = b""
    for block in decompress(path, file, []):
        held += block
        if len(held) >= HEAD_BYTES:
            break
    return held[:HEAD_BYTES]


def _has_others(sample: bytes) -> int:
    """Whether there are lines among the first whole ones that Python does not know."""
    lines = memoryview(sample)[: sample.rfind(b"\n") + 1]
    sums = add_up([_batch(0, lines)]) if lines else ()
    return int(not all(map(are_known, sums)))


def _first_request(blocks: Iterable[bytes]) -> str:
    """Return the checksum of the first line with a principal: others may be alike in many logs.

    Where it is does not change, as the earliest one does that is there.
    """
    rest = b""
    for block in blocks:
        held = rest + block
        end = held.rfind(b"\n") + 1
        if found := _PRINCIPAL.search(held, 0, end):
            begin = held.rfind(b"\n", 0, found.start()) + 1
            return checksum(held[begin : held.index(b"\n", found.start())])
        rest = held[end:] if len(held) - end <= MAX_LINE_BYTES else b""
    return ""


def _plain_blocks(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    yield file.read(HEAD_BYTES)  # of most logs no more is looked at
    while block := file.read(BLOCK_BYTES):
        yield block


def _packed_blocks(path: str, file: BinaryIO) -> Iterator[bytes]:
    """Return what a compressed file holds; also a last line without its end is whole."""
    failures: list[str] = []
    file.seek(0)
    yield from decompress(path, file, failures)
    if not failures:
        yield b"\n"


def _last_line_end(file: BinaryIO, start: int, length: int) -> int:
    """Find where the last whole line ends; `start` where there is none."""
    end = length
    while end > start:
        begin = max(start, end - (64 << 10))
        file.seek(begin)
        found = file.read(end - begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return start


# ---- reading lines


def span_lines(
    spans: Mapping[int, Sequence[Span]],
) -> Callable[[Any], Iterator["pa.RecordBatch"]]:
    """Return the work of tasks that read spans, by the number of the task: LINE_SCHEMA.

    A part that could not be read has a row of its own, numbered `-1 - part`, that says why.
    """

    def work(batches: Any) -> Iterator["pa.RecordBatch"]:  # noqa: ANN401 - of Arrow
        for batch in batches:
            for task in batch.column(0).to_pylist():
                for span in spans[task]:
                    yield from _read_span(span)

    return work


def _read_span(span: Span) -> Iterator["pa.RecordBatch"]:
    try:
        if is_packed(span.path):
            yield from _packed_lines(span)
        else:
            yield from _plain_lines(span)
    except OSError as failure:
        yield _reason(span.part, FAILED + (failure.strerror or str(failure)))


def _plain_lines(span: Span) -> Iterator["pa.RecordBatch"]:
    with Path(span.path).open("rb") as file:
        if head_checksum(file, span.head_length) != span.head:
            yield _reason(span.part, _REPLACED)
            return
        begin, end = span.begin, span.end
        if begin != span.start:
            begin = _line_start(file, begin, end)
        if begin < end < span.limit:  # of a longer line no more is read
            end = _line_start(file, end, min(end + MAX_LINE_BYTES, span.limit))
        file.seek(begin)
        yield from _batches(span.part, _exactly(file, end - begin))


def _line_start(file: BinaryIO, at: int, last: int) -> int:
    """Find where the first line begins that does so at a place or after it; `last` at most."""
    at -= 1
    file.seek(at)
    while at < last and (block := file.read(64 << 10)):
        found = block.find(b"\n")
        if found >= 0:
            return min(at + found + 1, last)
        at += len(block)
    return last


def _exactly(file: BinaryIO, length: int) -> Iterator[bytes]:
    while length > 0:
        block = file.read(min(BLOCK_BYTES, length))
        if not block:
            raise OSError("it was cut while it was read")
        length -= len(block)
        yield block


def _packed_lines(span: Span) -> Iterator["pa.RecordBatch"]:
    """Read what can be read of a compressed file.

    Its name may be that of the next one by now: those of logrotate have numbers.
    """
    failures: list[str] = []
    with Path(span.path).open("rb") as file:
        if checksum(_decompress_head(span.path, file)) != span.head:
            yield _reason(span.part, _REPLACED)
            return
        file.seek(0)
        yield from _batches(span.part, decompress(span.path, file, failures), failures)
    if failures:
        yield _reason(span.part, CUT + failures[0])


def _batches(
    part: int, blocks: Iterator[bytes], failures: Sequence[str] = ()
) -> Iterator["pa.RecordBatch"]:
    """Cut bytes into lines; what is cut off in the middle of one is left out.

    Of a line that is too long, as of a file that was filled up with zeros, the beginning is kept.
    """
    rest, is_long = b"", False
    for block in blocks:
        held = rest + block if rest else block
        first = held.find(b"\n", len(rest)) + 1
        if not is_long and (first or len(held)) > MAX_LINE_BYTES:
            yield _batch(part, memoryview(LONG_LINE + held[:MAX_LINE_BYTES][:HEAD_BYTES]))
            is_long = True
        start = (first or len(held)) if is_long else 0
        is_long = is_long and not first
        end = max(start, held.rfind(b"\n") + 1)
        if end > start:
            yield _batch(part, memoryview(held)[start:end])
        rest = held[end:]
    if rest and not failures:
        yield _batch(part, memoryview(rest))


def _batch(part: int, held: memoryview) -> "pa.RecordBatch":
    """Make a batch of lines, with their ends: nothing is copied."""
    import numpy as np  # noqa: PLC0415 - heavy
    import pyarrow as pa  # noqa: PLC0415

    ends = np.flatnonzero(np.frombuffer(held, np.uint8) == ord("\n")) + 1
    if held[-1] != ord("\n"):
        ends = np.append(ends, len(held))
    offsets = np.concatenate(([0], ends)).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(held)]
    lines = pa.Array.from_buffers(pa.string(), len(ends), buffers)
    parts = pa.array(np.full(len(ends), part, np.int32))
    return pa.RecordBatch.from_arrays([parts, lines], names=["part", "line"])


def _reason(part: int, text: str) -> "pa.RecordBatch":
    import pyarrow as pa  # noqa: PLC0415

    columns = [pa.array([-1 - part], pa.int32()), pa.array([text])]
    return pa.RecordBatch.from_arrays(columns, names=["part", "line"])
