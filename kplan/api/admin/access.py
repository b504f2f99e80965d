"""Requests about ACLs, quotas, SCRAM credentials and delegation tokens."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from kplan.api.admin.result import Connections, Result, check_unique, read_result, write_results
from kplan.cluster.request import AclBinding
from kplan.cluster.settings import (
    DelegationToken,
    QuotaAlteration,
    QuotaEntity,
    ScramAlteration,
    ScramUser,
    TokenRequest,
)

__all__ = ["AccessRequests"]


class AccessRequests:
    """Who may do what, and how much of it."""

    _connections: Connections

    def describe_acls(self, *, timeout: timedelta | None = None) -> frozenset[AclBinding]:
        """List all ACLs (DescribeAcls).

        Args:
            timeout: How long the request may take.

        Returns:
            The ACL bindings, in the words of the protocol.

        Raises:
            UnreadableError: The principal may not describe the cluster, or there is no authorizer.

        """
        return self._connections.within(timeout).acls()

    def create_acls(
        self, bindings: Collection[AclBinding], *, timeout: timedelta | None = None
    ) -> Mapping[AclBinding, Result[None]]:
        """Add ACLs (CreateAcls); adding one that exists is a success.

        Args:
            bindings: The ACL bindings.
            timeout: How long the request may take.

        Returns:
            A result for each binding.

        """
        asked = [*dict.fromkeys(bindings)]
        return write_results(asked, self._connections.within(timeout).create_acls(asked))

    def delete_acls(
        self, bindings: Collection[AclBinding], *, timeout: timedelta | None = None
    ) -> Mapping[AclBinding, Result[None]]:
        """Delete exactly these ACLs (DeleteAcls); deleting one that is absent is a success.

        There are no filters: a filter also deletes ACLs that were never read.

        Args:
            bindings: The ACL bindings.
            timeout: How long the request may take.

        Returns:
            A result for each binding.

        """
        asked = [*dict.fromkeys(bindings)]
        return write_results(asked, self._connections.within(timeout).delete_acls(asked))

    def describe_quotas(
        self, *, timeout: timedelta | None = None
    ) -> Mapping[QuotaEntity, Mapping[str, float]]:
        """List all client quotas (DescribeClientQuotas, KIP-546).

        Args:
            timeout: How long the request may take.

        Returns:
            Values by key for each entity: bytes and connections a second, percent, and
            mutations a second.

        Raises:
            UnreadableError: The principal may not describe the configs of the cluster.

        """
        return self._connections.within(timeout).quotas()

    def alter_quotas(
        self,
        alterations: Sequence[QuotaAlteration],
        *,
        validate_only: bool = False,
        timeout: timedelta | None = None,
    ) -> Mapping[QuotaEntity, Result[None]]:
        """Set and remove client quotas (AlterClientQuotas, KIP-546).

        Args:
            alterations: Keys to set and to remove, one item for each entity.
            validate_only: Only validate.
            timeout: How long the request may take.

        Returns:
            A result for each entity.

        """
        asked = [each.entity for each in alterations]
        check_unique(asked)
        cluster = self._connections.within(timeout)
        return write_results(asked, cluster.alter_quotas(alterations, validate_only=validate_only))

    def describe_scram_users(self, *, timeout: timedelta | None = None) -> Mapping[ScramUser, int]:
        """List the iterations of all SCRAM credentials (DescribeUserScramCredentials, KIP-554).

        Args:
            timeout: How long the request may take.

        Returns:
            Iterations by user and mechanism. Kafka returns no passwords.

        Raises:
            UnreadableError: The principal may not describe the cluster.

        """
        return self._connections.within(timeout).scram_users()

    def alter_scram_users(
        self, alterations: Sequence[ScramAlteration], *, timeout: timedelta | None = None
    ) -> Mapping[ScramUser, Result[None]]:
        """Set and delete SCRAM credentials (AlterUserScramCredentials, KIP-554).

        Args:
            alterations: A password and iterations for each credential, or None to delete it. The
                password is salted here and never sent.
            timeout: How long the request may take.

        Returns:
            A result for each user and mechanism.

        """
        asked = [each.name for each in alterations]
        check_unique(asked)
        return write_results(
            asked, self._connections.within(timeout).alter_scram_users(alterations)
        )

    def describe_delegation_tokens(
        self, *, timeout: timedelta | None = None
    ) -> tuple[DelegationToken, ...]:
        """List the delegation tokens that this principal may see (KIP-48), by id.

        Args:
            timeout: How long the request may take.

        Returns:
            The tokens.

        Raises:
            UnreadableError: The cluster has no tokens, or shows none over this connection.

        """
        return self._connections.within(timeout).delegation_tokens()

    def create_delegation_token(
        self, request: TokenRequest, *, timeout: timedelta | None = None
    ) -> Result[DelegationToken]:
        """Create a delegation token (KIP-48, KIP-373).

        Args:
            request: Owner, renewers and longest lifetime.
            timeout: How long the request may take.

        Returns:
            The token with its secret, or an error.

        """
        return read_result(self._connections.within(timeout).create_token(request))

    def renew_delegation_token(
        self, hmac: bytes, span: timedelta | None = None, *, timeout: timedelta | None = None
    ) -> Result[int]:
        """Renew a delegation token (KIP-48).

        Args:
            hmac: The secret of the token.
            span: How long from now it is valid; None is the default of the brokers.
            timeout: How long the request may take.

        Returns:
            When it expires, in milliseconds since 1970, or an error.

        """
        span_ms = -1 if span is None else int(span.total_seconds() * 1000)
        return read_result(self._connections.within(timeout).renew_token(hmac, span_ms))

    def expire_delegation_token(
        self, hmac: bytes, span: timedelta | None = None, *, timeout: timedelta | None = None
    ) -> Result[int]:
        """Let a delegation token expire (KIP-48).

        Args:
            hmac: The secret of the token.
            span: How long from now it is still valid; None ends it at once.
            timeout: How long the request may take.

        Returns:
            When it expires, in milliseconds since 1970, or an error.

        """
        span_ms = -1 if span is None else int(span.total_seconds() * 1000)
        return read_result(self._connections.within(timeout).expire_token(hmac, span_ms))
