from pathlib import Path

import pytest

from kplan.model.file_url import escape_glob, is_url, local_path


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("/srv/fleet", "/srv/fleet"),
        ("file:/srv/fleet", "/srv/fleet"),
        ("file:///srv/fleet", "/srv/fleet"),
        ("a:b/fleet", "a:b/fleet"),
        ("file://host/srv", None),
        ("s3a://bucket/fleet", None),
        ("hdfs:/fleet", None),
    ],
)
def test_a_place_on_this_machine_has_a_path(place: str, path: str | None) -> None:
    assert local_path(place) == (path and Path(path))
    assert is_url(place) == (":/" in place)


def test_a_name_with_characters_of_patterns_fits_itself_alone() -> None:
    assert escape_glob("/srv/a[1]{b,c}*?\\") == "/srv/a\\[1\\]\\{b,c\\}\\*\\?\\\\"
    assert escape_glob("hdfs://[::1]:8020/a[1]") == "hdfs://[::1]:8020/a\\[1\\]"
    assert escape_glob("file:/a[1]") == "file:/a\\[1\\]"
