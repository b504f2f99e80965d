"""Columns are those that pyarrow makes itself, without pandas."""

import subprocess
import sys

import pyarrow as pa
import pytest

from kplan.fleet.dataframe import long_array, map_array, string_array

FEW = [None, "", "a", "é\x00", None, "last"]
ATTRIBUTES = [{"a": "1", "b": "é"}, {}, {"c": ""}]


@pytest.mark.parametrize("count", [0, 1, 2, 6, 8, 9, 17, 64])
def test_values_come_back_as_they_went_in(count: int) -> None:
    some = [FEW[at % len(FEW)] for at in range(count)]
    assert string_array(some).equals(pa.array(some, pa.string()))
    whole = [each or "" for each in some]
    assert string_array(whole).equals(pa.array(whole, pa.string()))
    numbers = [None if each is None else at - (1 << 62) for at, each in enumerate(some)]
    assert long_array(numbers).equals(pa.array(numbers, pa.int64()))
    pairs = [ATTRIBUTES[at % len(ATTRIBUTES)] for at in range(count)]
    meant = pa.array([list(each.items()) for each in pairs], pa.map_(pa.string(), pa.string()))
    assert map_array(pairs).equals(meant)
    for made in (string_array(some), long_array(numbers), map_array(pairs)):
        made.validate(full=True)


def test_no_process_of_spark_imports_pandas_for_them() -> None:
    code = (
        "import sys; from kplan.fleet.dataframe import *; "
        "string_array(['a', None]); long_array([1]); map_array([{'a': 'b'}]); "
        "sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
