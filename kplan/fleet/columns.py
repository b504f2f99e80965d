"""Columns of Arrow, from values of Python.

pyarrow's own way looks whether they are of pandas, and imports that: half a second of work in every
process that Spark starts to read a cluster.
"""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_OFFSET, _LONG = "i", "q"


def texts(values: Sequence[str | None]) -> "pa.Array":
    """Make a column of texts."""
    import pyarrow as pa  # noqa: PLC0415 - heavy

    raw = [b"" if each is None else each.encode() for each in values]
    buffers = [_present(values), _offsets(map(len, raw)), pa.py_buffer(b"".join(raw))]
    return pa.Array.from_buffers(pa.string(), len(raw), buffers)


def longs(values: Sequence[int | None]) -> "pa.Array":
    """Make a column of whole numbers."""
    import pyarrow as pa  # noqa: PLC0415

    raw = array(_LONG, (each or 0 for each in values))
    return pa.Array.from_buffers(pa.int64(), len(raw), [_present(values), pa.py_buffer(raw)])


def maps(values: Sequence[Mapping[str, str]]) -> "pa.Array":
    """Make a column of maps."""
    import pyarrow as pa  # noqa: PLC0415

    offsets = pa.Array.from_buffers(pa.int32(), len(values) + 1, [None, _offsets(map(len, values))])
    keys, held = (
        texts(list(chain.from_iterable(each)))
        for each in (values, (one.values() for one in values))
    )
    return pa.MapArray.from_arrays(offsets, keys, held)


_SORTS: Mapping[str, Callable[[Sequence[Any]], "pa.Array"]] = {"string": texts, "long": longs}


def table(rows: Sequence[Mapping[str, Any]], schema: str) -> "pa.Table":
    """Make a table of rows; the schema, as Spark writes it, has strings and longs."""
    import pyarrow as pa  # noqa: PLC0415

    columns = [each.split() for each in schema.split(", ")]
    arrays = [_SORTS[kind]([each[name] for each in rows]) for name, kind in columns]
    return pa.Table.from_arrays(arrays, names=[name for name, _ in columns])


def _offsets(lengths: Iterable[int]) -> "pa.Buffer":
    import pyarrow as pa  # noqa: PLC0415

    return pa.py_buffer(array(_OFFSET, accumulate(lengths, initial=0)))


def _present(values: Sequence[object]) -> "pa.Buffer | None":
    """Give a bit for each value that is there, the first one lowest; nothing where all are."""
    import pyarrow as pa  # noqa: PLC0415

    if None not in values:
        return None
    bits = "".join("01"[each is not None] for each in reversed(values))
    return pa.py_buffer(int(bits, 2).to_bytes((len(bits) + 7) // 8, "little"))
