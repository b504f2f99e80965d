"""Columns are those that pyarrow makes itself, without pandas."""

import subprocess
import sys

import pyarrow as pa
import pytest

from kplan.fleet.columns import longs, maps, texts

FEW = [None, "", "a", "é\x00", None, "last"]
ATTRIBUTES = [{"a": "1", "b": "é"}, {}, {"c": ""}]


@pytest.mark.parametrize("count", [0, 1, 2, 6, 8, 9, 17, 64])
def test_values_come_back_as_they_went_in(count: int) -> None:
    some = [FEW[at % len(FEW)] for at in range(count)]
    assert texts(some).equals(pa.array(some, pa.string()))
    whole = [each or "" for each in some]
    assert texts(whole).equals(pa.array(whole, pa.string()))
    numbers = [None if each is None else at - (1 << 62) for at, each in enumerate(some)]
    assert longs(numbers).equals(pa.array(numbers, pa.int64()))
    pairs = [ATTRIBUTES[at % len(ATTRIBUTES)] for at in range(count)]
    meant = pa.array([list(each.items()) for each in pairs], pa.map_(pa.string(), pa.string()))
    assert maps(pairs).equals(meant)
    for made in (texts(some), longs(numbers), maps(pairs)):
        made.validate(full=True)


def test_no_process_of_spark_imports_pandas_for_them() -> None:
    code = (
        "import sys; from kplan.fleet.columns import *; "
        "texts(['a', None]); longs([1]); maps([{'a': 'b'}]); sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
