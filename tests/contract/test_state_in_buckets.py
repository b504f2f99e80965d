"""A state in a bucket of each service: two writers, lost answers, and what is refused."""

import base64
import os
import re
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import obstore
import pytest

from kplan.cli.run import run
from kplan.cluster.topology import ObjectService, StateBucket
from kplan.model.errors import (
    ObjectStoreAuthError,
    ObjectStoreUnreachableError,
    StateError,
    StateLockedError,
)
from kplan.model.workspace import workspace_path
from kplan.state.file_store import FileStore
from kplan.state.lock_holder import current_holder
from kplan.state.object_store import ObjectRecords
from kplan.state.record_lock import RecordTransaction
from kplan.state.record_store import RecordStore
from tests.object_buckets import SERVICES
from tests.object_servers import cutting_proxy
from tests.object_services import gcs_credentials
from tests.unit.state.state_builders import creation, owned, plan, state


@pytest.fixture(params=SERVICES)
def bucket(
    request: pytest.FixtureRequest, bucket_of_service: Callable[[str, str], StateBucket]
) -> StateBucket:
    return bucket_of_service(request.param, f"team/{uuid.uuid4().hex}")


def store(bucket: StateBucket) -> RecordStore:
    return RecordStore(ObjectRecords(bucket))


def test_a_state_and_its_history_are_read_by_another_run(bucket: StateBucket) -> None:
    first = store(bucket)
    with first.hold_lock(current_holder("apply"), 0, lambda _: None):
        first.write(state(owned("a"), serial=1))
        first.write(state(owned("a"), owned("b"), serial=2))
    assert store(bucket).read() == state(owned("a"), owned("b"), serial=2)
    assert [each.serial for each in store(bucket).list_versions()] == [1, 2]


def test_a_second_run_is_told_that_the_lock_is_held(bucket: StateBucket) -> None:
    first, second = store(bucket), store(bucket)
    with first.hold_lock(current_holder("apply"), 0, lambda _: None):
        first.write(state(owned("a"), serial=1))
        assert second.lock_status().is_held
        with (
            pytest.raises(StateLockedError),
            second.hold_lock(current_holder("apply"), 0, lambda _: None),
        ):
            pass
    assert not second.lock_status().is_held


def test_no_update_of_two_writers_is_lost(bucket: StateBucket) -> None:
    def count(number: int) -> None:
        mine = RecordTransaction(ObjectRecords(bucket))
        for turn in range(5):
            while True:
                try:
                    mine.update(lambda _, turn=turn: {f"{number}-{turn}": b"1"})  # type: ignore[misc]
                except StateLockedError:
                    continue
                break

    runs = [threading.Thread(target=count, args=(number,)) for number in range(2)]
    for each in runs:
        each.start()
    for each in runs:
        each.join()
    found = ObjectRecords(bucket).read()
    assert found is not None
    assert sorted(found) == [f"{number}-{turn}" for number in range(2) for turn in range(5)]


def test_a_write_whose_answer_was_lost_is_looked_up(
    bucket: StateBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []

    def step(view: object) -> dict[str, bytes | None]:
        del view
        steps.append(1)
        return {"a": b"%d" % len(steps)}

    address = urlsplit(bucket.endpoint)
    with cutting_proxy(f"http://{address.netloc}") as proxy:
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", gcs_credentials(proxy.address))
        endpoint = f"{proxy.address}{address.path}"
        mine = RecordTransaction(ObjectRecords(replace(bucket, endpoint=endpoint)))
        mine.update(lambda _: {"begun": b"1"})
        proxy.cut_next_put()
        mine.update(step)
        assert proxy.cut_count == 1
    assert len(steps) == 1
    assert ObjectRecords(bucket).read() == {"begun": b"1", "a": b"1"}


def test_a_server_that_answers_no_write_is_told(
    bucket: StateBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the network, and not another run."""
    address = urlsplit(bucket.endpoint)
    with cutting_proxy(f"http://{address.netloc}") as proxy:
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", gcs_credentials(proxy.address))
        proxy.drops_puts = True
        monkeypatch.setattr("kplan.state.object_store._RETRY_LIMIT_S", 2.0)
        records = ObjectRecords(replace(bucket, endpoint=f"{proxy.address}{address.path}"))
        with pytest.raises(ObjectStoreUnreachableError, match="does not answer"):
            records.claim()
    assert ObjectRecords(bucket).read() is None


def test_a_bucket_that_does_not_exist_is_named(bucket: StateBucket) -> None:
    kind = "container" if bucket.service is ObjectService.AZURE else "bucket"
    with pytest.raises(StateError, match=f"The {kind} absent, which stores the state, does not"):
        ObjectRecords(replace(bucket, bucket="absent")).claim()


def test_wrong_credentials_are_told(bucket: StateBucket, monkeypatch: pytest.MonkeyPatch) -> None:
    if bucket.service is ObjectService.GCS:
        pytest.skip("fake-gcs-server takes any credentials")
    monkeypatch.setattr("moto.core.responses.settings.INITIAL_NO_AUTH_ACTION_COUNT", 0)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", base64.b64encode(b"another").decode())
    with pytest.raises(ObjectStoreAuthError, match="cannot be read or written with these") as told:
        ObjectRecords(bucket).read()
    code = "AuthorizationFailure" if bucket.service is ObjectService.AZURE else "InvalidAccessKeyId"
    assert f"credentials: {code}: " in told.value.detail


def test_a_server_that_is_away_is_told(
    bucket: StateBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", gcs_credentials("http://127.0.0.1:1"))
    with pytest.raises(ObjectStoreUnreachableError, match="does not answer") as told:
        ObjectRecords(replace(bucket, endpoint="http://127.0.0.1:1")).claim()
    assert re.search(
        r"answer: Connection refused \(after 2 retries in \d+ ms\)\.$", told.value.detail
    )


def test_a_store_that_has_answered_is_given_time_to_come_back(
    bucket: StateBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restart of the server ended an apply after 0.3 s; what hung was waited for."""
    address = urlsplit(bucket.endpoint)
    target = f"http://{address.netloc}"
    with ExitStack() as stack:
        with cutting_proxy(target) as proxy:
            monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", gcs_credentials(proxy.address))
            place = replace(bucket, endpoint=f"{proxy.address}{address.path}")
            mine = RecordTransaction(ObjectRecords(place))
            mine.update(lambda _: {"begun": b"1"})
        port = proxy.server_address[1]
        back = threading.Timer(4, lambda: stack.enter_context(cutting_proxy(target, port)))
        back.start()
        mine.update(lambda _: {"a": b"x" * 5000})
        back.join()
    assert ObjectRecords(bucket).read() == {"begun": b"1", "a": b"x" * 5000}


def test_an_outage_is_waited_out_once(bucket: StateBucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows a failure, such as the release of the lock, does not wait as long again."""
    monkeypatch.setattr("kplan.state.object_store._RETRY_LIMIT_S", 3.0)
    address = urlsplit(bucket.endpoint)
    with cutting_proxy(f"http://{address.netloc}") as proxy:
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", gcs_credentials(proxy.address))
        mine = store(replace(bucket, endpoint=f"{proxy.address}{address.path}"))
        lock = mine.hold_lock(current_holder("apply"), 0, lambda _: None)
        lock.__enter__()
        journal = mine.open_journal(plan(creation("a")))
        writer = journal.__enter__()
    began = time.monotonic()
    with pytest.raises(StateError, match=r"retries in \d+ m?s\)\. Nothing more was sent") as told:
        writer.on_state_write(2)
    assert 2 < time.monotonic() - began < 8
    assert told.value.hint == "Once the object store answers again: kplan apply -resume"
    began = time.monotonic()
    lock.__exit__(None, None, None)
    assert time.monotonic() - began < 2


@pytest.mark.parametrize(
    ("service", "variable", "value", "said"),
    [
        ("gcs", "GOOGLE_APPLICATION_CREDENTIALS", "/absent.json", "No such file or directory"),
        ("gcs", "GOOGLE_SERVICE_ACCOUNT_KEY", "{bad", "Unable to decode service account file"),
        ("azure", "AZURE_STORAGE_ACCOUNT_KEY", "not base64!", "Invalid Access Key"),
    ],
)
def test_credentials_that_cannot_be_parsed_are_told_as_credentials(
    monkeypatch: pytest.MonkeyPatch, service: str, variable: str, value: str, said: str
) -> None:
    for each in list(os.environ):  # those of a server that other tests started
        if each.startswith(("GOOGLE_", "AZURE_")):
            monkeypatch.delenv(each)
    monkeypatch.setenv(variable, value)
    place = StateBucket("states", "a", service=ObjectService(service), account="acme")
    with pytest.raises(ObjectStoreAuthError, match=said) as told:
        ObjectRecords(place).read()
    assert variable in told.value.hint


def test_plain_http_in_a_service_account_is_refused_unless_it_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", gcs_credentials("http://gcs.invalid:4443"))
    place = StateBucket("states", "a", service=ObjectService.GCS)
    with pytest.raises(StateError, match="sent in clear") as told:
        ObjectRecords(place).read()
    assert told.value.hint == "Use https://, or set GOOGLE_ALLOW_HTTP=true."
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", gcs_credentials("http://127.0.0.1:1"))
    with pytest.raises(ObjectStoreUnreachableError, match="Connection refused"):
        ObjectRecords(place).read()


def test_a_state_moves_from_a_file_to_the_bucket_and_back(
    bucket: StateBucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(block(bucket))
    file = FileStore(tmp_path / "state" / "kplan.json")
    with file.hold_lock(current_holder("apply"), 0, lambda _: None):
        file.write(state(owned("a"), serial=3))
    document = file.read_document()
    command = [sys.executable, "-m", "kplan.cli.main", "state", "migrate", "-to"]
    kept = {"KPLAN_DISABLE_CI_DETECTION": "true"}  # a CI job would lose the file
    environ = {**os.environ, **kept, "PYTHONPATH": str(Path(__file__).parents[2])}
    for place in (bucket.service.value, "file"):
        done = subprocess.run(
            [*command, place], env=environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert "Moved the state (serial 3)" in done.stdout
        if place != "file":
            assert store(bucket).read_document() == document
    assert file.read_document() == document


def test_what_a_killed_writer_left_is_removed_when_it_is_old(
    bucket: StateBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = ObjectRecords(bucket)
    killed.claim()
    killed.write({"kept": b"x" * 5000})
    left = killed._put_object(b"y" * 5000)

    def kept() -> list[str]:
        found = obstore.list(killed._store(), f"{bucket.key}.records").collect()
        return sorted(each["path"] for each in found)

    names = kept()
    assert left in names
    ObjectRecords(bucket).claim()
    assert kept() == names, "another run may be about to name it"
    monkeypatch.setattr("kplan.state.object_store._ORPHAN_AGE", timedelta(seconds=-60))
    assert ObjectRecords(bucket).claim() == {"kept": b"x" * 5000}
    assert kept() == [each for each in names if each != left]


def block(bucket: StateBucket) -> str:
    given = {
        "backend": bucket.service.value,
        "container" if bucket.service is ObjectService.AZURE else "bucket": bucket.bucket,
        "key": bucket.key,
        "endpoint": bucket.endpoint,
        "region": bucket.region,
        "account": bucket.account,
    }
    arguments = [f'  {name} = "{each}"' for name, each in given.items() if each]
    return "\n".join(["state {", *arguments, "}", ""])


def test_a_state_moves_from_one_bucket_to_another(
    bucket: StateBucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a checkout of before there is no file between; a note says where it is now."""
    before, now = tmp_path / "before", tmp_path / "now"
    old, new = bucket, replace(bucket, key=f"{bucket.key}-new")
    for folder, place in ((before, old), (now, new)):
        folder.mkdir()
        (folder / "main.tf").write_text(block(place))
    with store(old).hold_lock(current_holder("apply"), 0, lambda _: None):
        pass
    first = store(old)
    with first.hold_lock(current_holder("apply"), 0, lambda _: None):
        first.write(state(owned("a"), serial=3))
    document = first.read_document()
    monkeypatch.chdir(now)
    moving = ["state", "migrate", f"-to={bucket.service.value}", "-from=../before"]
    assert run(moving, os.environ) == 0
    assert store(new).read_document() == document
    with pytest.raises(StateError, match="moved"):
        store(old).read()
    assert run(moving, os.environ) == 0, "a move that was done is left as it is"
    assert not (now / "state").exists()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kplan.state.object_store.find_spec", lambda _: None)
    with pytest.raises(StateError) as told:
        ObjectRecords(StateBucket("states", "a"))
    assert told.value.hint == "Install it: pip install 'kplan[objects]'"


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
def test_an_endpoint_of_the_environment_is_taken_over_http_on_this_machine(
    bucket_of_service: Callable[[str, str], StateBucket],
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
) -> None:
    place = bucket_of_service("s3", f"team/{uuid.uuid4().hex}")
    monkeypatch.setenv(variable, place.endpoint)
    named = StateBucket(place.bucket, place.key, place.region)
    assert store(named).read() is None


def test_http_to_another_machine_is_refused_unless_the_environment_allows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://minio.invalid:9000")
    place = StateBucket("states", "a", "us-east-1")
    with pytest.raises(StateError, match="sent in clear") as told:
        store(place).read()
    assert told.value.hint == "Use https://, or set AWS_ALLOW_HTTP=true."
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    with pytest.raises(ObjectStoreUnreachableError) as away:
        store(place).read()
    assert "builder error" not in away.value.detail


def test_workspaces_are_listed_and_deleted_beside_each_other(bucket: StateBucket) -> None:
    places = [replace(bucket, key=f"{bucket.key}{end}") for end in ("", "@prod", "@qa", "-2@x")]
    for number, place in enumerate(places):
        kept = store(place)
        with kept.hold_lock(current_holder("apply"), 0, lambda _: None):
            kept.write(state(owned(f"t{number}"), serial=1))
    assert store(bucket).list_workspaces() == ("prod", "qa")
    assert store(places[1]).list_workspaces() == ("prod", "qa")
    beside = store(places[1]).for_workspace("default")
    assert beside.location == store(bucket).location
    assert beside.read() == state(owned("t0"), serial=1)
    assert beside.for_workspace("qa").read() == state(owned("t2"), serial=1)
    gone = store(places[1])
    with gone.hold_lock(current_holder("workspace delete"), 0, lambda _: None):
        gone.delete_workspace()
    assert store(bucket).list_workspaces() == ("qa",)
    assert store(places[1]).read() is None
    assert not store(places[1]).lock_status().is_held
    assert store(bucket).read() == state(owned("t0"), serial=1)


def test_a_new_workspace_stays_when_another_is_selected(
    bucket: StateBucket,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As with Terraform; in a bucket there is no folder that would say so."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(block(bucket))
    for arguments in (["new", "prod"], ["select", "default"], ["select", "prod"]):
        assert run(["workspace", *arguments], os.environ) == 0, capsys.readouterr()
    made = store(replace(bucket, key=f"{bucket.key}@prod"))
    found = made.read()
    assert found is not None
    assert (found.serial, found.owned, found.cluster_id) == (0, {}, "")
    assert not made.lock_status().is_held
    assert run(["workspace", "new", "prod"], os.environ) == 1
    capsys.readouterr()
    for arguments in (["select", "default"], ["list"], ["delete", "prod"], ["list"]):
        assert run(["workspace", *arguments], os.environ) == 0, capsys.readouterr()
    said = capsys.readouterr().out
    assert "* default\n  prod\n" in said
    assert said.endswith('Deleted workspace "prod".\n* default\n')


def test_a_workspace_of_before_is_moved_to_the_bucket(
    bucket: StateBucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(block(bucket))
    file = FileStore(workspace_path(tmp_path / "state" / "kplan.json", "prod"))
    file.write(state(owned("a"), serial=3))
    assert run(["workspace", "new", "prod"], os.environ) == 0
    assert run(["state", "migrate", "-to", bucket.service.value], os.environ) == 0
    assert store(replace(bucket, key=f"{bucket.key}@prod")).read() == state(owned("a"), serial=3)
