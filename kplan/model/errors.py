"""The exceptions of kplan, and the refusal of an item."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import ClassVar

from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, Severity


class KplanError(Exception):
    """Something stopped the run. `summary` is fixed per class, `detail` names the particulars."""

    code: ClassVar[str] = "KP900"
    summary: ClassVar[str] = "kplan cannot continue"
    detailed_exit: ClassVar[int] = 1

    def __init__(self, detail: str = "", hint: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.hint = hint

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The problem in the form in which every problem is shown."""
        return (Diagnostic(self.code, Severity.ERROR, self.summary, self.detail, self.hint),)


def os_failure_text(failure: OSError) -> str:
    """Say why the operating system refused, and which file."""
    at = f" ({failure.filename})" if failure.filename else ""
    return f"{failure.strerror or failure}{at}"


class UsageError(KplanError):
    """A command line that cannot be executed."""

    code = "KP901"
    summary = "Invalid command line"


class NothingToResumeError(UsageError):
    """`apply -resume` where no apply was interrupted, or another run has finished it."""

    code = "KP927"
    summary = "No interrupted apply"


class ConfigError(KplanError):
    """A configuration with errors; carries all diagnostics.

    `sources` maps each file to its text, so that the offending lines can be shown.
    """

    code = "KP902"
    summary = "Invalid configuration"

    def __init__(
        self, diagnostics: Iterable[Diagnostic], sources: Mapping[str, str] | None = None
    ) -> None:
        self._diagnostics = tuple(diagnostics)
        self.sources: Mapping[str, str] = sources or {}
        super().__init__("; ".join(each.summary for each in self._diagnostics))

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Every problem found."""
        return self._diagnostics


class ClusterError(KplanError):
    """The cluster as a whole refused or failed; `answer` is what a broker said, if any."""

    code = "KP910"
    summary = "Request refused by the cluster"
    answer: "Refusal | None" = None


class UnreachableError(ClusterError):
    """No one answers at the bootstrap addresses within the timeout."""

    code = "KP911"
    summary = "Cannot reach the cluster"
    detailed_exit = 7


class AuthError(ClusterError):
    """TLS or SASL failed: wrong password, mechanism, certificate authority or certificate."""

    code = "KP912"
    summary = "Connection refused by the cluster"
    detailed_exit = 7


class ObjectStoreUnreachableError(UnreachableError):
    """The bucket that stores the state does not answer."""

    code = "KP925"
    summary = "Cannot reach the object store"


class ObjectStoreAuthError(AuthError):
    """The credentials for the bucket that stores the state are wrong, or lack a right."""

    code = "KP926"
    summary = "Request refused by the object store"


class UnsupportedError(ClusterError):
    """API not supported by the cluster, or a version of one, that the operation needs."""

    code = "KP913"
    summary = "The cluster does not support this operation"


class UnreadableError(ClusterError):
    """A kind could not be read in full; nothing may be concluded from the part that was."""

    code = "KP914"
    summary = "The cluster could not be read in full"


class NotListableError(UnreadableError):
    """The node cannot list a kind; objects can be read by name."""


class WrongEndpointError(ClusterError):
    """A controller answers where a broker was meant, or a broker where a controller was."""

    code = "KP915"
    summary = "Address belongs to another node type"


class StateError(KplanError):
    """The state cannot be used."""

    code = "KP920"
    summary = "The state cannot be used"


class StateLockedError(StateError):
    """Another run holds the lock."""

    code = "KP921"
    summary = "The state is locked"
    detailed_exit = 6


class StateCorruptError(StateError):
    """The state file is empty, cut, damaged or of a newer format: never the same as no state."""

    code = "KP922"
    summary = "The state file is damaged"


class WrongClusterError(StateError):
    """State or plan belong to another cluster than the one that answers."""

    code = "KP923"
    summary = "State belongs to a different cluster"
    detailed_exit = 6


class StalePlanError(KplanError):
    """State, configuration or cluster moved since the plan was made."""

    code = "KP930"
    summary = "The plan is stale"
    detailed_exit = 6


class PolicyDeniedError(KplanError):
    """A policy or a guard refused the plan."""

    code = "KP940"
    summary = "The plan was refused"
    detailed_exit = 3


class PlanRefusedError(PolicyDeniedError):
    """A plan with errors was to be applied; it carries them."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self._diagnostics = tuple(diagnostics)
        super().__init__("; ".join(f"{each.summary} [{each.code}]" for each in self._diagnostics))

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Every error of the plan."""
        return self._diagnostics


class SandboxError(KplanError):
    """The sandbox cluster did not start, or crashed."""

    code = "KP950"
    summary = "The sandbox failed"


class FleetError(KplanError):
    """Spark did not start, or the store of the fleet's tables cannot be used."""

    code = "KP970"
    summary = "The fleet job failed"


class RunInterruptedError(KplanError):
    """A signal stopped the run after requests in flight had been settled."""

    code = "KP960"
    summary = "Interrupted"


class RefusalOrigin(StrEnum):
    """Who refused: the broker, kplan's own client before sending, or a policy of kplan."""

    BROKER = "broker"
    CLIENT = "client"
    POLICY = "policy"


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer of one item that was not executed.

    `error` is Kafka's own name (`TOPIC_ALREADY_EXISTS`), `code` its number in the protocol; a
    client-side failure has a name of `cluster/errors.py` and a code below -1. `hint` is the way out
    of this refusal, where it is another than that of all with the same error.
    """

    error: str
    code: int
    message: str = ""
    throttle_ms: int = 0
    origin: RefusalOrigin = RefusalOrigin.BROKER
    hint: str = ""

    def __str__(self) -> str:
        """Write error and message on one line."""
        return f"{self.error}: {self.message}" if self.message else self.error


class RefusedError(ClusterError):
    """One item of a request was refused; `refusal` has Kafka's error."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(f"{refusal}.")
        self.refusal = self.answer = refusal


@dataclass(frozen=True, slots=True)
class InProgress(Refusal):
    """A requested action is still in progress: `left` of `total` items remain.

    Of the brokers that are down `awaited` are to get replicas, and `limited` have a throttle.
    `security_protocol` is that of the connection, for commands that are named. `bytes_left` are
    to be copied, None where that is not known.
    """

    left: int = 0
    total: int = 0
    awaited: frozenset[int] = frozenset()
    limited: frozenset[int] = frozenset()
    security_protocol: str = ""
    bytes_left: int | None = None

    def without_progress(self) -> Refusal:
        """Return the refusal alone."""
        return Refusal(
            self.error, self.code, self.message, self.throttle_ms, self.origin, self.hint
        )
