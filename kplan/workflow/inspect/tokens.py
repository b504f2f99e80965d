"""Use case: delegation tokens, by their ids; secrets are read where they are needed (KIP-48)."""

from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from kplan.cluster.errors import remedy_for
from kplan.cluster.port import Cluster
from kplan.cluster.settings import DelegationToken, TokenRequest
from kplan.model.errors import ClusterError, Refusal, UsageError
from kplan.model.table import Figures, FigureTable
from kplan.workflow.plan.api_check import check_api

_COLUMNS = ("token", "owner", "requester", "renewers", "issued", "expires", "at_most_until")


def list_tokens(cluster: Cluster, owner: str = "*") -> Figures:
    """List the tokens whose owners fit a pattern, without their secrets (K919-19).

    Raises:
        ClusterError: the cluster has no tokens, or tells none over this connection.

    """
    check_api(cluster, {"delegation_tokens"})
    rows = tuple(
        _token_row(each) for each in cluster.delegation_tokens() if fnmatchcase(each.owner, owner)
    )
    return Figures("The delegation tokens", (FigureTable("tokens", _COLUMNS, rows),))


def _token_row(token: DelegationToken) -> tuple[str, ...]:
    return (
        token.id,
        token.owner,
        token.requester,
        " ".join(token.renewers),
        format_time(token.issued_ms),
        format_time(token.expires_ms),
        format_time(token.max_ms),
    )


def create_token(cluster: Cluster, order: TokenRequest) -> DelegationToken:
    """Make a token.

    Raises:
        UsageError: a principal is not one of type User, as Kafka wants it.
        ClusterError: the cluster refused, or did not answer.

    """
    for each in filter(None, (order.owner, *order.renewers)):
        if not each.startswith("User:") or each == "User:":
            raise UsageError(f'"{each}" is not an owner or renewer.', "Write it as User:NAME.")
    check_api(cluster, {"create_token"})
    found = cluster.create_token(order)
    if isinstance(found, Refusal):
        raise ClusterError(f"No token was made: {found}", remedy_for(found))
    return found


def token_details(token: DelegationToken) -> Mapping[str, str | list[str]]:
    """Return all of a token that was made, the secret too: the one place where it is reported."""
    return {
        "token": token.id,
        "secret": b64encode(token.hmac).decode("ascii"),
        "owner": token.owner,
        "renewers": list(token.renewers),
        "expires": format_time(token.expires_ms),
        "at_most_until": format_time(token.max_ms),
    }


def renew_token(cluster: Cluster, token: str, span_ms: int) -> int:
    """Renew a token; returns its expiry in milliseconds since 1970.

    Raises:
        ClusterError: there is no such token, or the cluster refused.

    """
    check_api(cluster, {"delegation_tokens", "renew_token"})
    until = cluster.renew_token(_read_secret(cluster, token), span_ms)
    if isinstance(until, Refusal):
        raise ClusterError(f"Token {token} was not renewed: {until}", remedy_for(until))
    return until


def expire_token(cluster: Cluster, token: str, span_ms: int) -> int:
    """Let a token end, below 0 at once; shows when, in milliseconds since 1970.

    Raises:
        ClusterError: there is no such token, or the cluster refused.

    """
    check_api(cluster, {"delegation_tokens", "expire_token"})
    until = cluster.expire_token(_read_secret(cluster, token), span_ms)
    if isinstance(until, Refusal):
        raise ClusterError(f"Token {token} goes on: {until}", remedy_for(until))
    return until


def format_time(at_ms: int) -> str:
    """Write a moment, in milliseconds since 1970, as UTC to the second."""
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _read_secret(cluster: Cluster, token: str) -> bytes:
    for each in cluster.delegation_tokens():
        if each.id == token:
            return each.hmac
    raise ClusterError(
        f"There is no token {token} that we may see.", "kplan tokens list shows all of them."
    )
