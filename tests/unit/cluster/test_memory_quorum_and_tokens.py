"""Voters and delegation tokens of the cluster in memory, with faults."""

from collections.abc import Mapping

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.settings import DelegationToken, TokenRequest
from kplan.cluster.topology import Voter
from kplan.model.errors import Refusal, UnreadableError


def errors(answers: Mapping[str, object]) -> dict[str, str]:
    return {
        name: each.error if isinstance(each, Refusal) else "ok" for name, each in answers.items()
    }


def voter(node: int) -> Voter:
    return Voter(node, f"directory-{node}", "CONTROLLER", "c", 9093)


def made(cluster: MemoryCluster) -> DelegationToken:
    found = cluster.create_token(TokenRequest())
    assert isinstance(found, DelegationToken)
    return found


def test_voters_come_and_go_by_id_and_directory() -> None:
    cluster = MemoryCluster()
    cluster.run_controllers((101, 102), (103,), down=(102,))
    assert cluster.add_voter(voter(103)) is None
    answers = {"add": cluster.add_voter(voter(103)), "remove": cluster.remove_voter(101, "other")}
    assert errors(answers) == {"add": "DUPLICATE_VOTER", "remove": "VOTER_NOT_FOUND"}
    assert cluster.remove_voter(101, "directory-101") is None
    found = cluster.quorum()
    assert (found.leader, [each.id for each in found.voters]) == (102, [102, 103])
    assert found.voters[0].fetched_ms == 60_000
    assert found.observers[-1].id == 101


def test_a_change_of_voters_can_be_denied() -> None:
    cluster = MemoryCluster()
    cluster.run_controllers((101,), (102,))
    cluster.deny_operation("ALTER", "CLUSTER")
    assert errors({"add": cluster.add_voter(voter(102))}) == {"add": "CLUSTER_AUTHORIZATION_FAILED"}
    assert [each.id for each in cluster.quorum().voters] == [101]


def test_a_token_is_only_seen_by_whom_it_concerns_where_the_right_is_missing() -> None:
    cluster = MemoryCluster()
    token = made(cluster)
    other = cluster.connect_as("User:other")
    other.deny_operation("DESCRIBE", "DELEGATION_TOKEN")
    other.deny_operation("CREATE_TOKENS", "USER")
    assert other.delegation_tokens() == ()
    theirs = made(other)
    assert other.delegation_tokens() == (theirs,)
    assert cluster.delegation_tokens() == (token, theirs)
    refused = {
        "create": other.create_token(TokenRequest("User:kplan")),
        "renew": other.renew_token(token.hmac, -1),
        "gone": other.expire_token(b"none", -1),
    }
    assert errors(refused) == {
        "create": "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
        "renew": "DELEGATION_TOKEN_OWNER_MISMATCH",
        "gone": "DELEGATION_TOKEN_NOT_FOUND",
    }


def test_a_token_is_renewed_up_to_the_end_of_its_life() -> None:
    cluster = MemoryCluster()
    token = made(cluster)
    assert cluster.renew_token(token.hmac, 10**12) == token.max_ms
    assert cluster.renew_token(token.hmac, -1) == token.expires_ms


def test_faults_strike_requests_for_tokens() -> None:
    cluster = MemoryCluster()
    cluster.refuse("CLUSTER_AUTHORIZATION_FAILED", call="delegation_tokens", times=1)
    with pytest.raises(UnreadableError, match="CLUSTER_AUTHORIZATION_FAILED"):
        cluster.delegation_tokens()
    cluster.time_out(call="create_token", times=1)
    lost = cluster.create_token(TokenRequest())
    assert isinstance(lost, Refusal)
    assert lost.error == "CLIENT_TIMED_OUT"
    (token,) = cluster.delegation_tokens()
    cluster.time_out(call="expire_token", carried_out=False)
    assert isinstance(cluster.expire_token(token.hmac, -1), Refusal)
    assert cluster.delegation_tokens() == (token,)
    assert cluster.expire_token(token.hmac, -1) == token.issued_ms
    cluster.disable_tokens()
    assert errors({"create": cluster.create_token(TokenRequest())}) == {
        "create": "DELEGATION_TOKEN_AUTH_DISABLED"
    }
