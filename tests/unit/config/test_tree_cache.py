"""Trees kept from one run to the next."""

import os
import pickle
from pathlib import Path

import pytest
from hcl2.api import parses_to_tree

from kplan.config.load import Configuration, Inputs
from kplan.config.syntax import grammar
from kplan.config.syntax.cache import MAX_FILES, TreeCache
from kplan.config.syntax.sealed import _checksum
from tests.unit.config.folders import loaded, told

TEXT = """
variable "size" {
  default = 2.5
}
resource "kafka_topic" "orders" {
  name       = "orders-${var.size > 2 ? "big" : "small"}"
  partitions = 3
}
"""


def inputs(folder: Path) -> Inputs:
    return Inputs(environ={"XDG_CACHE_HOME": str(folder / "cache")})


def cached(folder: Path, text: str) -> Configuration:
    return loaded(folder / "project", {"main.tf": text}, inputs(folder))


def watched_parser(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Gather in the list what is parsed from now on."""
    asked: list[str] = []

    def noted(text: str) -> object:
        asked.append(text)
        return parses_to_tree(text)

    monkeypatch.setattr("kplan.config.syntax.grammar.parses_to_tree", noted)
    grammar._tree.cache_clear()
    return asked


def test_a_file_that_has_not_changed_is_not_parsed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cached(tmp_path, TEXT)
    asked = watched_parser(monkeypatch)
    second = cached(tmp_path, TEXT)
    assert asked == []
    assert second.resources == first.resources
    assert second.digest == first.digest


def test_only_the_block_that_changed_is_parsed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached(tmp_path, TEXT)
    asked = watched_parser(monkeypatch)
    found = cached(tmp_path, "\n# moved down\n" + TEXT.replace("2.5", "1.5"))
    assert len(asked) == 1
    assert found.resources[0].identity == "orders-small"
    assert str(found.resources[0].declared_at) == "main.tf:7:1"


def test_a_file_with_mistakes_tells_them_again(tmp_path: Path) -> None:
    broken = TEXT + 'resource "kafka_topic" "x" {\n  name = \n}\n'
    first = [told(each) for each in cached(tmp_path, broken).diagnostics]
    assert first
    assert [told(each) for each in cached(tmp_path, broken).diagnostics] == first


def test_a_damaged_cache_is_as_good_as_none(tmp_path: Path) -> None:
    wanted = cached(tmp_path, TEXT).resources
    (file,) = (tmp_path / "cache" / "kplan").glob("*.trees")
    whole = file.read_bytes()
    for damaged in (b"", whole[:20], whole[:-1], whole[:60] + b"\x00" + whole[61:], b"x" * 500):
        file.write_bytes(damaged)
        assert cached(tmp_path, TEXT).resources == wanted


def test_nothing_but_trees_is_read_from_a_cache(tmp_path: Path) -> None:
    class Bad:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, ("touch " + str(tmp_path / "ran"),)

    cache = TreeCache(tmp_path)
    source = tmp_path / "main.tf"
    cache.write(source, {})
    (file,) = tmp_path.glob("*.trees")
    stamp = file.read_bytes()[:16]
    payload = pickle.dumps({b"": Bad()})
    file.write_bytes(stamp + _checksum(payload) + payload)
    assert cache.read(source) == {}
    assert not (tmp_path / "ran").exists()


def test_it_can_be_turned_off_and_never_stands_in_the_way(tmp_path: Path) -> None:
    off = Inputs(environ={"XDG_CACHE_HOME": str(tmp_path / "cache"), "KPLAN_NO_CACHE": "1"})
    assert loaded(tmp_path / "project", {"main.tf": TEXT}, off).diagnostics == ()
    assert not (tmp_path / "cache").exists()
    gone = TreeCache(tmp_path / "nowhere")
    gone.write(tmp_path / "main.tf", {})
    assert gone.read(tmp_path / "main.tf") == {}


def test_the_oldest_files_make_room(tmp_path: Path) -> None:
    for at in range(MAX_FILES):
        file = tmp_path / f"{at}.trees"
        file.touch()
        os.utime(file, (at, at))
    TreeCache(tmp_path).write(tmp_path / "main.tf", {})
    assert len(list(tmp_path.glob("*.trees"))) == MAX_FILES
    assert not (tmp_path / "0.trees").exists()
