"""The one seam: what kplan must know of a sort of Kafka object."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kplan.cluster.port import Cluster
from kplan.cluster.specs import Verdict
from kplan.model.plan import Change, Step
from kplan.model.refusal import Refusal
from kplan.model.resource import Identity, Path
from kplan.model.snapshot import Live, Reading


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a value, or with going from one value to another.

    `code` is one of `kinds/codes.py`, which holds the fixed summary.
    """

    code: str
    detail: str
    hint: str = ""
    path: Path = ()
    is_warning: bool = False


Resolved = Mapping[Path, object]
"""What the broker would fill in for attributes that were left to it; {} is plain consent."""


class ResourceKind(Protocol):
    """One sort of Kafka object. Only methods that take a cluster are not pure.

    Values handed in and out are instances of `schema`.
    """

    @property
    def name(self) -> str:
        """The resource type in HCL, `kafka_topic`."""
        ...

    @property
    def noun(self) -> str:
        """The word for messages, `topic`."""
        ...

    @property
    def schema(self) -> type[Any]:
        """The frozen dataclass whose fields are the HCL attributes."""
        ...

    @property
    def is_replaceable(self) -> bool:
        """Whether deleting and creating anew loses nothing but a moment (an ACL, not a topic)."""
        ...

    @property
    def is_deletable(self) -> bool:
        """Whether objects can be deleted; one that is not declared any more is else let go."""
        ...

    @property
    def is_always_read(self) -> bool:
        """Whether it is read although none is declared and none is owned."""
        ...

    def identify(self, value: Any) -> Identity:  # noqa: ANN401 - each kind has its own value type
        """Name the object that the value stands for."""
        ...

    def normal(self, value: Any) -> Any:  # noqa: ANN401
        """Rewrite a declared value in its canonical spelling."""
        ...

    def check(self, value: Any) -> Iterator[Problem]:  # noqa: ANN401
        """Find what is wrong with a declared value, without a cluster."""
        ...

    def check_all(
        self, declared: Collection[Identity], live: Collection[Identity] = ()
    ) -> Iterator[tuple[Identity, Problem]]:
        """Find what is wrong with declared objects beside each other and beside the live ones."""
        ...

    def read(self, cluster: Cluster, wanted: Collection[Identity]) -> Reading:
        """Read every object of this kind; `wanted` are asked for by name where listing may hide.

        Raises:
            Unread: the kind could not be read in full.

        """
        ...

    def recalled(self, live: Any, applied: Any) -> Any:  # noqa: ANN401
        """Add to an owned object what Kafka does not tell, from what was last applied to it."""
        ...

    def aligned(self, live: Any, desired: Any, ignored: Collection[Path] = ()) -> tuple[Any, Any]:  # noqa: ANN401
        """Rewrite both so that they are equal exactly when there is nothing to do.

        What is not declared, and what `ignored` covers, is taken over from live.
        """
        ...

    def refuse(self, live: Live, desired: Any) -> Iterator[Problem]:  # noqa: ANN401
        """Say why going from live to desired cannot be done, or not without losing data."""
        ...

    def steps(self, change: Change) -> tuple[Step, ...]:
        """List the requests that carry the change, each with its place in the global order."""
        ...

    def records(self, step: Step, change: Change) -> int:
        """Count the controller records the change writes in this step (limit: 10,000 a request)."""
        ...

    def apply(
        self, cluster: Cluster, step: Step, changes: Sequence[Change]
    ) -> Mapping[Identity, Verdict]:
        """Send one request for one step; a change without an entry had no answer."""
        ...

    def validate(
        self, cluster: Cluster, step: Step, changes: Sequence[Change]
    ) -> Mapping[Identity, Refusal | Resolved]:
        """Ask the cluster whether it would carry out the step; {} where Kafka cannot be asked."""
        ...

    def is_done(self, step: Step, change: Change, reading: Reading) -> bool:
        """Whether the cluster stands where the step would have brought it."""
        ...

    def served(
        self, cluster: Cluster, broker: int, changes: Sequence[Change]
    ) -> Mapping[Identity, str]:
        """Tell which of the applied changes this broker serves, with the uid of each object."""
        ...
