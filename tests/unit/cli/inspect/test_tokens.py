"""Delegation tokens on the command line, on a cluster in memory."""

import json
from pathlib import Path

import pytest

from kplan.cluster.settings import TokenRequest
from tests.unit.cli.memory_command import MemoryCommand, memory_command


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


def test_a_token_is_made_with_its_secret_on_stdout_alone(desk: MemoryCommand) -> None:
    """S27: in a list the secret is not told any more."""
    made = json.loads(desk.run("tokens", "create", "-renewer=User:ci", "-lifetime=48h", "-json"))
    assert made["owner"] == "User:kplan"
    assert made["renewers"] == ["User:ci"]
    assert (made["expires"], made["at_most_until"]) == (
        "2026-01-02T00:00:00Z",
        "2026-01-03T00:00:00Z",
    )
    told = desk.run("tokens", "list")
    assert made["token"] in told
    assert made["secret"] not in told
    assert made["secret"] not in desk.run("tokens", "list", "-json")


def test_no_lifetime_is_not_the_default_one(desk: MemoryCommand) -> None:
    desk.cluster.create_token(TokenRequest())
    said = desk.run_failing("tokens", "create", "-lifetime=0h")
    assert "-lifetime=0h is no lifetime of a token" in said
    assert "Leave -for out" in desk.run_failing("tokens", "renew", "token-1", "-for=0.1ms")
    assert len(desk.cluster.delegation_tokens()) == 1


def test_a_token_for_another_user_is_told_as_lines(desk: MemoryCommand) -> None:
    told = desk.run("tokens", "create", "-owner=User:app")
    lines = dict(line.split(":", 1) for line in told.splitlines())
    assert list(lines) == ["token", "secret", "owner", "renewers", "expires", "at_most_until"]
    assert lines["owner"].strip() == "User:app"


def test_tokens_are_listed_by_owner(desk: MemoryCommand) -> None:
    """K919-19."""
    for owner in ("User:app-1", "User:app-2", "User:other"):
        desk.cluster.create_token(TokenRequest(owner))
    found = json.loads(desk.run("tokens", "list", "-owner=User:app-*", "-json"))
    rows = found["tables"]["tokens"]["rows"]
    assert [row["owner"] for row in rows] == ["User:app-1", "User:app-2"]


def test_a_token_is_renewed_and_ended_by_its_id(desk: MemoryCommand) -> None:
    """No secret stands on a command line."""
    desk.cluster.create_token(TokenRequest())
    told = desk.run("tokens", "renew", "token-1", "-for=12h")
    assert told == "Token token-1 is valid until 2026-01-01T12:00:00Z.\n"
    told = desk.run("tokens", "expire", "token-1", "-in=1h", "-auto-approve", "-json")
    assert json.loads(told) == {"token": "token-1", "expires": "2026-01-01T01:00:00Z"}
    desk.run("tokens", "expire", "token-1", "-auto-approve")
    assert desk.cluster.delegation_tokens() == ()


def test_no_token_ends_without_a_yes(desk: MemoryCommand) -> None:
    desk.cluster.create_token(TokenRequest())
    assert "-auto-approve" in desk.run_failing("tokens", "expire", "token-1")
    assert "-json requires -auto-approve" in desk.run(
        "tokens", "expire", "token-1", "-json", code=1
    )
    assert len(desk.cluster.delegation_tokens()) == 1


def test_a_token_that_is_not_there_is_told(desk: MemoryCommand) -> None:
    told = desk.run_failing("tokens", "renew", "token-9")
    assert "There is no token token-9" in told
    assert "kplan tokens list" in told


def test_a_refusal_names_what_is_missing(desk: MemoryCommand) -> None:
    desk.cluster.deny_operation("CREATE_TOKENS", "USER")
    told = desk.run_failing("tokens", "create", "-owner=User:app")
    assert "needs CREATE_TOKENS on USER User:app" in told
    desk.cluster.create_token(TokenRequest())
    for verb in ("renew", "expire"):
        desk.cluster.refuse("DELEGATION_TOKEN_OWNER_MISMATCH", call=f"{verb}_token")
        more = ("-auto-approve",) if verb == "expire" else ()
        assert "one of its renewers" in desk.run_failing("tokens", verb, "token-1", *more)


def test_a_cluster_without_tokens_says_what_to_set(desk: MemoryCommand) -> None:
    desk.cluster.disable_tokens()
    assert "delegation.token.secret.key" in desk.run_failing("tokens", "list")
    assert "delegation.token.secret.key" in desk.run_failing("tokens", "create")


def test_a_cluster_that_lacks_the_api_is_told_before_anything_is_sent(desk: MemoryCommand) -> None:
    """K117-21."""
    desk.cluster.remove_api("create_token", "CreateDelegationToken", (1, 3))
    told = desk.run_failing("tokens", "create")
    assert "kplan needs CreateDelegationToken in versions 1 to 3" in told
    assert "create_token" not in {each.method for each in desk.cluster.calls}


@pytest.mark.parametrize("wrong", ["app", "Group:app", "User:"])
def test_an_owner_or_renewer_that_is_no_user_is_told(desk: MemoryCommand, wrong: str) -> None:
    assert "Write it as User:NAME." in desk.run_failing("tokens", "create", f"-owner={wrong}")
    assert "Write it as User:NAME." in desk.run_failing("tokens", "create", f"-renewer={wrong}")
    assert desk.cluster.delegation_tokens() == ()


def test_a_span_that_is_none_is_told(desk: MemoryCommand) -> None:
    assert "-for" in desk.run_failing("tokens", "renew", "token-1", "-for=soon")
