"""The state file: whole or untouched, whatever happens."""

import contextlib
import errno
import json
import os
import random
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from kplan.model.errors import StalePlanError, StateCorruptError, StateError, WrongClusterError
from kplan.model.plan import PlanBasis
from kplan.model.state import State
from kplan.model.version import VERSION
from kplan.state.atomic_file import sync_folder, write_atomically
from kplan.state.file import (
    check_free_space,
    check_same_cluster,
    check_same_state,
    new_state,
    read_state,
    write_state,
)
from kplan.state.history import MAX_BACKUPS, list_backups
from kplan.state.json_document import seal_document
from tests.unit.state.state_builders import LINEAGE, many, owned, state
from tests.unit.state.state_faults import files_limited_to, small_disk
from tests.unit.state.state_processes import PROCESSES, write_for_ever


def test_no_file_means_no_state(tmp_path: Path) -> None:
    assert read_state(tmp_path / "state.json") is None
    assert read_state(tmp_path / "absent" / "state.json") is None


def test_what_is_written_is_read_and_only_we_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "state.json"
    write_state(path, state(owned()))
    assert read_state(path) == state(owned())
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in path.parent.iterdir()) == ["state.json"]


@pytest.mark.parametrize("keep", [0, 1, 200, -1])
def test_a_truncated_state_is_an_error_and_never_means_no_state(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "state.json"
    write_state(path, state(owned()))
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(StateCorruptError) as caught:
        read_state(path)
    assert str(path) in caught.value.detail


def test_a_damaged_state_names_the_command_that_brings_the_newest_whole_backup_back(
    tmp_path: Path,
) -> None:
    path = tmp_path / "my state.json"
    for serial in (1, 2, 3, 4):
        write_state(path, state(owned(), serial=serial))
    list_backups(path)[-1].write_bytes(b"")
    path.write_bytes(b"{}")
    with pytest.raises(StateCorruptError) as caught:
        read_state(path)
    assert "serial 2" in caught.value.hint
    subprocess.run(["sh", "-c", caught.value.hint.partition(": ")[2]], check=True)
    assert read_state(path) == state(owned(), serial=2)


def test_a_damaged_state_without_a_backup_says_so(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(b"")
    with pytest.raises(StateCorruptError) as caught:
        read_state(path)
    assert "No whole backup" in caught.value.hint


def test_a_state_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="cannot be read"):
        read_state(tmp_path)
    (tmp_path / "link.json").symlink_to(tmp_path / "unmounted" / "state.json")
    with pytest.raises(StateError, match="is a link to"):
        read_state(tmp_path / "link.json")


def test_a_state_with_a_kind_of_a_later_version_is_whole_and_still_an_error(
    tmp_path: Path,
) -> None:
    path = tmp_path / "state.json"
    heading = {"format": 1, "lineage": "x", "serial": 1, "cluster_id": "", "outputs": {}}
    path.write_bytes(seal_document({**heading, "resources": [{"kind": "kafka_mirror"}]}))
    with pytest.raises(StateError, match="kafka_mirror") as caught:
        read_state(path)
    assert not isinstance(caught.value, StateCorruptError)
    assert str(path) in caught.value.detail


def test_a_state_behind_a_link_is_written_behind_the_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    write_state(real, state(serial=1))
    link.symlink_to(real)
    write_state(link, state(serial=2))
    assert link.is_symlink()
    assert read_state(real) == state(serial=2)


def test_the_last_twenty_states_are_kept_and_each_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    for serial in range(1, 26):
        write_state(path, state(owned(), serial=serial))
    kept = list_backups(path)
    assert [int(each.stem) for each in kept] == list(range(5, 25))
    assert len(kept) == MAX_BACKUPS
    assert [read_state(each) for each in kept] == [
        state(owned(), serial=serial) for serial in range(5, 25)
    ]


def test_two_states_in_one_folder_keep_their_backups_apart(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        write_state(tmp_path / name, state(serial=1))
        write_state(tmp_path / name, state(serial=2))
    assert list_backups(tmp_path / "a.json") != list_backups(tmp_path / "b.json")


def test_writing_again_after_a_restore_replaces_the_backup_of_the_same_serial(
    tmp_path: Path,
) -> None:
    path = tmp_path / "state.json"
    write_state(path, state(serial=1))
    write_state(path, state(owned("lost"), serial=2))
    write_state(path, state(serial=3))
    path.unlink()
    path.hardlink_to(list_backups(path)[0])  # serial 1, one file with its backup
    write_state(path, state(serial=2))
    write_state(path, state(serial=3))
    first, second = list_backups(path)
    assert read_state(first) == state(serial=1)
    assert read_state(second) == state(serial=2)
    assert sorted(each.name for each in first.parent.iterdir()) == ["1.json", "2.json"]


def test_writing_the_same_state_again_does_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_state(path, state())
    before = path.stat().st_ino
    write_state(path, state())
    assert path.stat().st_ino == before
    assert list_backups(path) == ()


def test_the_state_of_another_configuration_is_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "there" / "state.json"
    write_state(path, new_state("another"))
    with pytest.raises(StateError, match="holds another state, another"):
        write_state(path, state(owned()))
    assert read_state(path) == new_state("another")


def test_a_state_written_meanwhile_is_not_written_over_and_ours_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "there" / "state.json"
    write_state(path, state(owned("theirs"), serial=42))
    with pytest.raises(StateError, match="written by another run: it is at serial 42") as told:
        write_state(path, state(owned("ours"), serial=42))
    assert "kplan apply -resume" in told.value.hint
    assert "cp " not in told.value.hint
    assert read_state(path) == state(owned("theirs"), serial=42)
    assert read_state(tmp_path / "errored.state") == state(owned("ours"), serial=42)


def test_a_damaged_state_is_kept_when_a_whole_one_takes_its_place(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(b"half a sta")
    write_state(path, state())
    assert read_state(path) == state()
    assert (tmp_path / "backup" / "state.json" / "damaged.json").read_bytes() == b"half a sta"
    assert list_backups(path) == ()


def test_a_write_that_is_cut_off_leaves_the_previous_state_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "there" / "state.json"
    write_state(path, many(1, serial=1))
    with files_limited_to(20_000), pytest.raises(StateError, match="File too large"):
        write_state(path, many(100, serial=2))
    assert read_state(path) == many(1, serial=1)
    assert not [each for each in tmp_path.rglob("*") if each.suffix in {".tmp", ".state"}]


def test_where_no_other_folder_takes_the_new_state_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with files_limited_to(100), pytest.raises(StateError) as caught:
        write_state(tmp_path / "state.json", many(1, serial=1))
    assert "plan again" in caught.value.hint


def test_a_write_to_where_no_file_can_be_leaves_no_litter(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        write_atomically(tmp_path / "folder", b"x")
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


def test_what_killed_writers_left_is_swept_up_when_nobody_can_be_writing_it(
    tmp_path: Path,
) -> None:
    for name, age_s in (("old", 7200), ("young", 60)):
        leftover = tmp_path / f".state.json.{name}.tmp"
        leftover.touch()
        os.utime(leftover, (time.time() - age_s,) * 2)
    write_state(tmp_path / "state.json", state())
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        ".state.json.young.tmp",
        "state.json",
    ]


@pytest.mark.parametrize(("number", "matters"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_a_folder_that_knows_no_fsync_is_not_an_error_but_a_broken_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, *, matters: bool
) -> None:
    def fail(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="error") if matters else contextlib.nullcontext():
        sync_folder(tmp_path)


def test_a_state_names_the_version_that_wrote_it(tmp_path: Path) -> None:
    """Known without a search for what is installed, which takes longer than writing a state."""
    path = tmp_path / "state.json"
    write_state(path, state())
    assert json.loads(path.read_bytes())["kplan_version"] == VERSION


def test_a_full_disk_leaves_the_previous_state_and_the_new_one_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with small_disk(tmp_path / "disk", 64 * 1024):
        path = tmp_path / "disk" / "state.json"
        write_state(path, many(1, serial=1))
        with pytest.raises(StateError) as caught:
            write_state(path, many(500, serial=2))
        assert "No space left" in caught.value.detail
        assert read_state(path) == many(1, serial=1)
        assert [each.name for each in path.parent.iterdir() if each.suffix == ".tmp"] == []
    spare = tmp_path / "errored.state"
    assert read_state(spare) == many(500, serial=2)
    assert spare.stat().st_mode & 0o777 == 0o600
    assert f"cp {spare}" in caught.value.hint


def test_a_disk_that_fills_up_at_any_write_never_costs_the_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each number of free pages lets another one of the writes fail."""
    monkeypatch.chdir(tmp_path)
    with small_disk(tmp_path / "disk", 64 * 1024):
        path = tmp_path / "disk" / "state.json"
        write_state(path, many(5, serial=1))
        for free_pages in range(6):
            ballast = path.parent / "ballast"
            with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
                while file.write(b"x" * 4096):
                    pass
            os.truncate(ballast, max(0, ballast.stat().st_size - free_pages * 4096))
            before = read_state(path)
            assert before is not None
            after = many(20, serial=before.serial + 1)
            try:
                write_state(path, after)
            except StateError:
                assert read_state(path) == before
            else:
                assert read_state(path) == after
            ballast.unlink()


def test_too_little_space_is_told_before_anything_is_changed(tmp_path: Path) -> None:
    check_free_space(tmp_path / "not" / "there" / "state.json", 1000)
    with small_disk(tmp_path / "disk", 128 * 1024):
        path = tmp_path / "disk" / "state.json"
        check_free_space(path)
        with pytest.raises(StateError, match="128 KiB left; state and journal may take 4064 KiB"):
            check_free_space(path, 1000)


def test_a_state_of_another_cluster_is_refused() -> None:
    check_same_cluster(state(cluster_id="a"), "a")
    check_same_cluster(state(cluster_id=""), "a")
    for answering in ("b", ""):
        with pytest.raises(WrongClusterError):
            check_same_cluster(state(cluster_id="a"), answering)


def test_a_plan_fits_only_the_state_it_was_made_from() -> None:
    based_on = PlanBasis("digest", LINEAGE, 41, "cluster-1")
    check_same_state(state(), based_on)
    with pytest.raises(StalePlanError, match="serial 41"):
        check_same_state(state(serial=42), based_on)
    with pytest.raises(StalePlanError, match=LINEAGE):
        check_same_state(State("another", 41), based_on)
    with pytest.raises(WrongClusterError):
        check_same_state(state(cluster_id="cluster-2"), based_on)


def test_a_killed_writer_and_a_reader_that_never_stops_see_only_whole_states(
    tmp_path: Path,
) -> None:
    """Twenty SIGKILLs at random moments; Terraform 1.11 loses 16 states of 20 here."""
    path = tmp_path / "state.json"
    write_state(path, many(200, 1))
    for _ in range(20):
        told, tell = PROCESSES.Pipe(duplex=False)
        writer = PROCESSES.Process(target=write_for_ever, args=(path, tell), daemon=True)
        writer.start()
        tell.close()
        acknowledged = told.recv()
        ends_at = time.monotonic() + random.random() / 20
        while time.monotonic() < ends_at:
            found = read_state(path)
            assert found is not None
            assert found == many(200, found.serial)
        writer.kill()
        writer.join()
        writer.close()
        with told, contextlib.suppress(EOFError):
            while True:
                acknowledged = told.recv()
        found = read_state(path)
        assert found is not None
        assert found.serial in {acknowledged, acknowledged + 1}
    assert all(read_state(backup) is not None for backup in list_backups(path))
