"""Delegation tokens of a cluster in memory, whose clock stands still."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from kplan.cluster.delegation import DEFAULT_MS, DelegationToken, TokenOrder
from kplan.cluster.errors import refusal, remedy
from kplan.cluster.faults import Call
from kplan.cluster.memory_serving import Serving
from kplan.model.errors import Unread
from kplan.model.refusal import Refusal

Told = TypeVar("Told")

NOW_MS = 1_767_225_600_000
_DAY_MS = 86_400_000
_LIFETIME_MS = 7 * _DAY_MS
_DISABLED, _UNKNOWN, _FOREIGN, _NOT_OURS = 61, 62, 63, 65


class TokenRequests(Serving):
    """Serves tokens; each ends after a day, and can be renewed for a week."""

    def without_tokens(self) -> None:
        """Run the cluster without a secret key: it has no tokens."""
        self._store.has_tokens = False

    def delegation_tokens(self) -> tuple[DelegationToken, ...]:
        """List the tokens that we may see; raises Unread."""
        _, struck = self._read(Call("delegation_tokens"))
        if refused := struck.refused.get("") or self._disabled():
            raise Unread(f"Delegation tokens cannot be read: {refused}", hint=remedy(refused))
        is_barred = ("DESCRIBE", "DELEGATION_TOKEN", "*") in self._denied
        found = sorted(self._store.tokens.values(), key=lambda token: token.id)
        return tuple(each for each in found if not is_barred or self._is_ours(each))

    def create_token(self, order: TokenOrder) -> DelegationToken | Refusal:
        """Make a token."""
        owner = order.owner or self._principal

        def made() -> DelegationToken | Refusal:
            if owner != self._principal and ("CREATE_TOKENS", "USER", "*") in self._denied:
                return refusal(_NOT_OURS, self._missing(Call("create_token"), owner))
            number = len(self._store.tokens) + 1
            life_ms = _LIFETIME_MS if order.lifetime_ms == DEFAULT_MS else order.lifetime_ms
            token = DelegationToken(
                f"token-{number}",
                owner,
                self._principal,
                tuple(sorted(order.renewers)),
                NOW_MS,
                NOW_MS + min(_DAY_MS, life_ms),
                NOW_MS + life_ms,
                hashlib.sha512(f"{number}".encode()).digest(),
            )
            self._store.tokens[token.id] = token
            return token

        return self._served("create_token", owner, made)

    def renew_token(self, hmac: bytes, span_ms: int) -> int | Refusal:
        """Let a token be valid for longer."""

        def renewed() -> int | Refusal:
            return self._lasting(hmac, _DAY_MS if span_ms == DEFAULT_MS else span_ms)

        return self._served("renew_token", "", renewed)

    def expire_token(self, hmac: bytes, span_ms: int) -> int | Refusal:
        """Let a token end sooner."""

        def ended() -> int | Refusal:
            until = self._lasting(hmac, max(0, span_ms))
            if span_ms < 0 and not isinstance(until, Refusal):
                held = self._store.tokens
                self._store.tokens = {key: each for key, each in held.items() if each.hmac != hmac}
            return until

        return self._served("expire_token", "", ended)

    def _lasting(self, hmac: bytes, span_ms: int) -> int | Refusal:
        token = next((each for each in self._store.tokens.values() if each.hmac == hmac), None)
        if token is None:
            return refusal(_UNKNOWN, name="DELEGATION_TOKEN_NOT_FOUND")
        if not self._is_ours(token):
            return refusal(_FOREIGN)
        until = min(token.last_ms, NOW_MS + span_ms)
        self._store.tokens[token.id] = replace(token, expires_ms=until)
        return until

    def _is_ours(self, token: DelegationToken) -> bool:
        return self._principal in {token.owner, *token.renewers}

    def _disabled(self) -> Refusal | None:
        return None if self._store.has_tokens else refusal(_DISABLED)

    def _served(self, method: str, item: str, work: Callable[[], Told]) -> Told | Refusal:
        """Serve a request about one token."""
        call = Call(method, (item,))
        self._enter(call)
        with self._store.lock:
            struck = self._meet(call)
            if struck.lost is not None and not struck.is_carried_out:
                return struck.lost
            found = struck.refused.get(item) or self._disabled() or work()
            return struck.lost or found
