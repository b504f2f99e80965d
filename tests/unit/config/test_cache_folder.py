"""Where kplan keeps what it can make anew."""

import os
import sys
from pathlib import Path

import pytest

from kplan.config.syntax import grammar
from kplan.config.syntax.cachefolder import cache_folder


def test_the_folder_is_made_for_the_user_alone(tmp_path: Path) -> None:
    folder = cache_folder({"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert folder == tmp_path / "cache" / "kplan"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert cache_folder({"HOME": str(tmp_path)}) == tmp_path / ".cache" / "kplan"


def test_a_folder_that_others_may_write_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / "kplan").mkdir()
    (tmp_path / "kplan").chmod(0o777)
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) is None


def test_there_is_none_where_it_is_turned_off_or_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert cache_folder({"KPLAN_NO_CACHE": "1", "HOME": str(tmp_path)}) is None
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path / "file")}) is None
    assert cache_folder({}) is None


def test_the_grammar_of_a_read_only_installation_is_kept_in_the_users_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """python-hcl2 would build it anew at each start, which takes 1.7 s (hcl.md 1)."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("KPLAN_NO_CACHE", raising=False)
    monkeypatch.setattr(
        sys.modules["hcl2.parser"], "PARSER_FILE", tmp_path / "nowhere" / "cache.bin"
    )
    writable = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: path != tmp_path / "nowhere" and writable(path, mode)
    )
    grammar._keep_grammar_cache()
    kept = sys.modules["hcl2.parser"].PARSER_FILE
    assert kept.parent == tmp_path / "kplan"
    assert kept.name.startswith("hcl2-grammar-")
