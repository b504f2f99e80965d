"""A saved plan: nothing lost, nothing secret, and nothing else taken for one."""

import io
import json
import random
import zipfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kplan.kinds.schema import Attribute
from kplan.model.address import Address
from kplan.model.errors import KplanError, StalePlanError
from kplan.model.plan import Action, AttributeChange, Change, OutputChange, Plan
from kplan.model.resource import Identity
from kplan.state import json_document
from kplan.state.json_document import from_plain, to_plain
from kplan.state.plan_file import (
    check_not_expired,
    decode_plan,
    encode_plan,
    plan_metadata,
    read_plan,
    write_plan,
)
from tests.unit.state.state_builders import LINEAGE, creation, plan
from tests.unit.state.state_strategies import CHANGES, UNHURRIED, plans

META = plan_metadata(plan(), expires_at="2026-08-05T10:00:00+00:00", nonce="nonce-1")


def saved(path: Path, what: Plan) -> bytes:
    write_plan(path, what, META)
    return path.read_bytes()


def archive(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in members.items():
            file.writestr(name.replace("_", "."), data)
    return buffer.getvalue()


@settings(UNHURRIED, max_examples=40)
@given(CHANGES)
def test_a_change_is_read_as_it_was_written(change: Change) -> None:
    assert from_plain(Change, json.loads(json.dumps(to_plain(change)))) == change


@settings(UNHURRIED, max_examples=40)
@given(plans())
def test_a_plan_is_read_as_it_was_written(what: Plan) -> None:
    assert decode_plan(encode_plan(what)) == what


def test_batches_refer_to_the_changes_of_the_plan() -> None:
    what = plan(creation("a"), creation("b"))
    found = json.loads(encode_plan(what))
    assert len(found["changes"]) == 2
    assert found["batches"][0]["changes"] == [0, 1]
    again = decode_plan(encode_plan(what))
    assert again.batches[0].changes[1] is again.changes[1]


def test_an_address_may_hold_two_changes() -> None:
    """The old object and the new one, after a rename."""
    old = replace(creation("old"), address=Address("kafka_topic", "a"), action=Action.DELETE)
    new = replace(creation("new"), address=Address("kafka_topic", "a"))
    assert decode_plan(encode_plan(plan(old, new))) == plan(old, new)


def test_a_saved_plan_keeps_what_tells_whether_it_may_be_applied(tmp_path: Path) -> None:
    path = tmp_path / "p.kplan"
    write_plan(path, plan(creation()), META, show=b'{"format_version": "1.2"}')
    found = read_plan(path)
    assert found.plan == plan(creation())
    assert found.metadata == META
    assert found.show == b'{"format_version": "1.2"}'
    assert (META.lineage, META.serial, META.cluster_id) == (LINEAGE, 41, "cluster-1")
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_same_plan_gives_the_same_bytes(tmp_path: Path) -> None:
    what = plan(creation())
    assert saved(tmp_path / "a", what) == saved(tmp_path / "b", what)


def test_a_sensitive_output_is_never_in_the_file() -> None:
    what = replace(
        plan(), outputs=(OutputChange("password", Action.UPDATE, "old-secret", "hunter2", True),)
    )
    written = encode_plan(what)
    assert b"hunter2" not in written
    assert b"old-secret" not in written


@dataclass(frozen=True, slots=True)
class _User:
    name: Annotated[str, Attribute("Name.")]
    password: Annotated[str | None, Attribute("Password.", is_sensitive=True)] = None


def test_a_secret_attribute_of_a_kind_is_never_in_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(json_document._SCHEMAS, "kafka_user", _User)
    monkeypatch.setitem(json_document._SECRETS, "kafka_user", frozenset({"password"}))
    change = Change(
        Address("kafka_user", "a"),
        "kafka_user",
        Identity("a"),
        Action.UPDATE,
        before=_User("a", "old-secret"),
        after=_User("a", "hunter2"),
        attributes=(AttributeChange(("password",), "old-secret", "hunter2", sensitive=True),),
    )
    written = json.dumps(to_plain(change))
    assert "secret" not in written
    assert "hunter2" not in written
    assert from_plain(Change, json.loads(written)).after == _User("a")


@settings(UNHURRIED, max_examples=60)
@given(st.randoms(use_true_random=False))
def test_a_damaged_plan_is_refused_or_the_same_never_another(
    tmp_path_factory: pytest.TempPathFactory, dice: random.Random
) -> None:
    path = tmp_path_factory.mktemp("plan") / "p.kplan"
    data = bytearray(saved(path, plan(creation())))
    if dice.random() < 0.5:
        data = data[: dice.randrange(len(data))]
    else:
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    path.write_bytes(data)
    try:
        found = read_plan(path)
    except KplanError:
        return
    assert (found.plan, found.metadata) == (plan(creation()), META)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a saved plan"),
        (b'{"resource": {}}', "not a saved plan"),
        (archive(tfplan=b"", tfstate=b""), "plan of Terraform"),
        (archive(readme_txt=b"hello"), "not a saved plan"),
        (archive(meta_json=b"[]"), "misplaces"),
        (archive(meta_json=b"{"), "misplaces"),
        (archive(meta_json=b'{"format": 1}', plan_json=b"{}"), "misplaces"),
        (
            archive(meta_json=b'{"format": 1, "plan_sha256": ""}', plan_json=b"{}"),
            "its checksum is wrong",
        ),
    ],
)
def test_what_is_no_plan_is_named_for_what_it_is(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "p.kplan"
    path.write_bytes(data)
    with pytest.raises(KplanError) as caught:
        read_plan(path)
    assert words in caught.value.detail
    assert not isinstance(caught.value, StalePlanError)


def test_a_plan_of_a_newer_format_is_stale_and_names_the_version(tmp_path: Path) -> None:
    path = tmp_path / "p.kplan"
    path.write_bytes(archive(meta_json=b'{"format": 3, "kplan_version": "3.4.0"}'))
    with pytest.raises(StalePlanError, match=r"kplan 3\.4\.0 in format 3"):
        read_plan(path)


def test_a_plan_that_is_not_there_or_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KplanError, match="No such file"):
        read_plan(tmp_path / "absent")
    with pytest.raises(KplanError, match="cannot be written"):
        write_plan(tmp_path / "absent" / "p.kplan", plan(), META)


def test_a_plan_expires() -> None:
    check_not_expired(META, datetime(2026, 8, 5, 9, 59, tzinfo=UTC))
    check_not_expired(replace(META, expires_at=""), datetime(2999, 1, 1, tzinfo=UTC))
    with pytest.raises(StalePlanError, match="good until 2026-08-05T10:00:00"):
        check_not_expired(META, datetime(2026, 8, 5, 10, tzinfo=UTC))


def test_a_plan_nested_without_end_is_a_damaged_one(tmp_path: Path) -> None:
    file = tmp_path / "deep.kplan"
    with zipfile.ZipFile(file, "w") as archive:
        for name in ("meta.json", "plan.json"):
            archive.writestr(name, "[" * 100_000)
    with pytest.raises(KplanError, match="damaged"):
        read_plan(file)
