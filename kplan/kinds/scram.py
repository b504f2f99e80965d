"""`kafka_user_scram_credential`: how a user proves who it is, for one mechanism."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Annotated

from kplan.cluster.errors import CLIENT_SECRET_DIFFERS, client_refusal
from kplan.cluster.port import Cluster
from kplan.cluster.request import ItemResult
from kplan.cluster.settings import ScramAlteration, ScramUser
from kplan.kinds.base import Problem, ResolvedAttributes, is_marked, secret_mark, setting_steps
from kplan.kinds.schema import SECRET_MARK, Attribute
from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal
from kplan.model.plan import Action, Change, Step
from kplan.model.resource import Identity, Path
from kplan.model.state import KindSnapshot, LiveObject

REMOVE = Step(8, "alter_scram_users")
REPLACE_REMOVE = Step(33, "alter_scram_users")
REPLACE_SET = Step(34, "alter_scram_users")
SET = Step(39, "alter_scram_users")
_REMOVALS = (REMOVE, REPLACE_REMOVE)

MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
FEWEST, MOST = 4096, 16384
_VERSION_MARK = "version "
"""How the mark of a password_wo begins; those of a password are hexadecimal."""


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """A SCRAM credential in the words of Terraform's Kafka provider."""

    username: Annotated[str, Attribute("Name of the user.", forces_replacement=True)]
    scram_mechanism: Annotated[
        str, Attribute("How the password is proved.", forces_replacement=True, choices=MECHANISMS)
    ]
    scram_iterations: Annotated[
        int, Attribute("How often the password is hashed, 4096 to 16384 times.", "number")
    ] = FEWEST
    password: Annotated[
        str | None,
        Attribute("The password; the state stores only a digest of it.", is_sensitive=True),
    ] = field(default=None, repr=False)
    password_wo: Annotated[
        str | None,
        Attribute("The password; it is never stored in the state.", is_sensitive=True),
    ] = field(default=None, repr=False)
    password_wo_version: Annotated[
        str | None, Attribute("Change the version to set password_wo again.")
    ] = None
    password_mark: Annotated[str, SECRET_MARK] = field(default="", repr=False)

    @property
    def unset_secret(self) -> Path:
        """Return the one of password and password_wo without a value.

        By the mark, because a saved plan and the state have no password.
        """
        is_write_only = self.password_mark.startswith(_VERSION_MARK)
        return ("password",) if is_write_only else ("password_wo",)


class ScramKind:
    """Credentials: Kafka returns all but the password (KIP-554), so kplan stores a mark of it."""

    name = "kafka_user_scram_credential"
    noun = "SCRAM credential"
    schema = ScramCredential
    is_replaceable = True
    is_deletable = True
    is_always_read = False
    is_shareable = False

    def identify(self, value: ScramCredential) -> Identity:
        """Name it as the provider does, `alice|SCRAM-SHA-256`."""
        return Identity(f"{value.username}|{value.scram_mechanism}")

    def normalize(self, value: ScramCredential) -> ScramCredential:
        """Spell the mechanism in one way, and mark the password."""
        named = replace(value, scram_mechanism=value.scram_mechanism.upper())
        mark = secret_mark(value.password) if value.password is not None else _version_mark(value)
        return replace(named, password_mark=mark)

    def check(self, value: ScramCredential) -> Iterator[Problem]:
        """Check the credential against Kafka's rules."""
        if not value.username:
            detail = "A user has a name."
            yield Problem("KP225", detail, path=("username",), is_independent=True)
        if value.scram_mechanism not in MECHANISMS:
            yield Problem(
                "KP225",
                f'There is no mechanism "{value.scram_mechanism}".',
                f"scram_mechanism is one of {', '.join(MECHANISMS)}.",
                ("scram_mechanism",),
                is_independent=True,
            )
        if not FEWEST <= value.scram_iterations <= MOST:
            yield Problem(
                "KP225",
                f"scram_iterations is {value.scram_iterations}; Kafka takes {FEWEST} to {MOST}.",
                path=("scram_iterations",),
                is_independent=True,
            )
        yield from _password_problems(value)

    def check_all(
        self,
        declared: Collection[Identity],  # noqa: ARG002 - credentials are beside each other
        live: Collection[Identity] = (),  # noqa: ARG002
    ) -> Iterator[tuple[Identity, Problem]]:
        """Find nothing: credentials do not get in each other's way."""
        return iter(())

    def read(self, cluster: Cluster, wanted: Collection[Identity]) -> KindSnapshot:  # noqa: ARG002 - one list holds all
        """Read all credentials in one request."""
        return self._kind_snapshot(cluster.scram_users())

    def fill_from_state(self, live: ScramCredential, applied: ScramCredential) -> ScramCredential:
        """Know the password that was set last, by its mark."""
        return replace(
            live,
            password_mark=applied.password_mark,
            password_wo_version=applied.password_wo_version,
        )

    def align(
        self, live: ScramCredential, desired: ScramCredential, ignored: Collection[Path] = ()
    ) -> tuple[ScramCredential, ScramCredential]:
        """Compare iterations, and passwords by their marks.

        One that was not set by kplan is unknown, and so another. Whoever changes the iterations
        needs the password too: the declared one, also where it is ignored.
        """
        gone = {path[0] for path in ignored if path}
        if () in ignored:
            return live, live
        if "scram_iterations" in gone:
            desired = replace(desired, scram_iterations=live.scram_iterations)
        is_held = self._has_marked_password(live.password_mark, desired)
        is_known = is_held or bool(gone & _PASSWORD_ATTRIBUTES)
        if is_known and live.scram_iterations == desired.scram_iterations:
            return live, live
        return live, replace(desired, password_mark=live.password_mark) if is_held else desired

    def check_change(self, live: LiveObject, desired: ScramCredential) -> Iterator[Problem]:  # noqa: ARG002 - see docstring
        """Refuse nothing: any credential may be set again."""
        return iter(())

    def steps(self, change: Change) -> tuple[Step, ...]:
        """Users are created after their ACLs and deleted before them."""
        return setting_steps(change, SET, (REPLACE_REMOVE, REPLACE_SET), REMOVE)

    def record_count(self, step: Step, change: Change) -> int:  # noqa: ARG002 - the same for all
        """One record each."""
        return 1

    def apply(
        self, cluster: Cluster, step: Step, changes: Sequence[Change]
    ) -> Mapping[Identity, ItemResult]:
        """Set or delete."""
        is_removal = step in _REMOVALS
        specs = {each.identity: _alteration(each, is_removal=is_removal) for each in changes}
        # A deletion has no password, so one that is unknown must never be sent as if it were one.
        unknown = {each.identity for each in changes if not self.has_secrets(step, each)}
        answers = cluster.alter_scram_users(
            [spec for name, spec in specs.items() if name not in unknown]
        )
        missing = client_refusal(CLIENT_SECRET_DIFFERS, "The password is not the planned one.")
        return {
            name: missing if name in unknown else answers[spec.name]
            for name, spec in specs.items()
            if name in unknown or spec.name in answers
        }

    def validate(
        self,
        cluster: Cluster,  # noqa: ARG002 - see docstring
        step: Step,  # noqa: ARG002
        changes: Sequence[Change],  # noqa: ARG002
    ) -> Mapping[Identity, Refusal | ResolvedAttributes]:
        """Say nothing: Kafka has no validate-only for credentials (K4o-16)."""
        return {}

    def is_done(self, step: Step, change: Change, reading: KindSnapshot) -> bool:
        """Check the iterations; a new password is visible only if they changed."""
        if step in _REMOVALS:
            return self.identify(change.before) not in reading.objects  # type: ignore[arg-type] # deletes have one
        live = reading.objects.get(change.identity)
        after: ScramCredential = change.after  # type: ignore[assignment] # only deletes have none
        if live is None or live.value.scram_iterations != after.scram_iterations:  # type: ignore[attr-defined]
            return False
        before: ScramCredential | None = change.before  # type: ignore[assignment]
        is_new = change.action is not Action.UPDATE or before is None
        return is_new or before.scram_iterations != after.scram_iterations  # type: ignore[union-attr]

    def find_visible(
        self, cluster: Cluster, broker: int, changes: Sequence[Change]
    ) -> Mapping[Identity, str]:
        """Compare with the list of this broker."""
        held = self._kind_snapshot(cluster.scram_users(broker=broker)).objects
        return {change.identity: "" for change in changes if _is_visible(self, change, held)}

    def has_secrets(self, step: Step, change: Change) -> bool:
        """Compare the password with its mark."""
        if step in _REMOVALS:
            return True
        after: ScramCredential = change.after  # type: ignore[assignment] # not a deletion
        is_given = after.password is not None or after.password_wo is not None
        return is_given and self._has_marked_password(after.password_mark, after)

    def _has_marked_password(self, mark: str, value: ScramCredential) -> bool:
        if value.password is None:
            return mark == value.password_mark == _version_mark(value)
        return is_marked(mark, value.password, self.identify(value))

    def _kind_snapshot(self, listed: Mapping[ScramUser, int]) -> KindSnapshot:
        values = (
            ScramCredential(each.user, each.mechanism, count) for each, count in listed.items()
        )
        return KindSnapshot({self.identify(value): LiveObject(value) for value in values})


def _version_mark(value: ScramCredential) -> str:
    return f"{_VERSION_MARK}{value.password_wo_version or ''}"


_PASSWORD_ATTRIBUTES = frozenset({"password", "password_wo", "password_wo_version"})


def _password_problems(value: ScramCredential) -> Iterator[Problem]:
    given = [each for each in (value.password, value.password_wo) if each is not None]
    if len(given) != 1:
        yield Problem(
            "KP225",
            "A credential has one password, and Kafka never returns it."
            if not given
            else "password and password_wo are both declared.",
            "Declare password_wo with password_wo_version, or password.",
        )
    elif not given[0].strip():
        yield Problem("KP225", "The password is blank.")
    elif value.password_wo is not None and value.password_wo_version is None:
        yield Problem(
            "KP225",
            "Without password_wo_version another password_wo is never set.",
            "Declare password_wo_version, and another one with each new password.",
            ("password_wo",),
            is_warning=True,
        )


def _alteration(change: Change, *, is_removal: bool) -> ScramAlteration:
    value: ScramCredential = change.before if is_removal else change.after  # type: ignore[assignment]
    name = ScramUser(value.username, value.scram_mechanism)
    if is_removal:
        return ScramAlteration(name)
    password = value.password if value.password is not None else value.password_wo
    return ScramAlteration(name, value.scram_iterations, password)


def _is_visible(kind: ScramKind, change: Change, held: Mapping[Identity, LiveObject]) -> bool:
    """Whether the new credential exists and the one it replaces is gone."""
    before: ScramCredential | None = change.before  # type: ignore[assignment] # a change of this kind
    after: ScramCredential | None = change.after  # type: ignore[assignment]
    old = None if before is None else kind.identify(before)
    if old is not None and (after is None or old != change.identity) and old in held:
        return False
    if after is None:
        return True
    live = held.get(change.identity)
    return live is not None and live.value.scram_iterations == after.scram_iterations  # type: ignore[attr-defined]
