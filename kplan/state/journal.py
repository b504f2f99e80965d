"""The journal of an apply: intents and outcomes as lines with a running checksum."""

import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from kplan.kinds import KINDS
from kplan.kinds.base import CreateFirstKind
from kplan.kinds.schema import to_stored_document
from kplan.kinds.unfinished_change import owned_after_outcomes
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import SourceRange
from kplan.model.errors import Refusal, StateCorruptError, StateError
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import Action, Change, ObjectKey
from kplan.model.state import State
from kplan.state.atomic_file import real_path, sync_folder
from kplan.state.json_document import compact_json, encode_fields, from_plain, to_plain

_CHECKSUM_KEY = b',"crc":"'
_CLOSE = b'"}'


class ChecksumChain:
    """Writes lines, one after another."""

    def __init__(self) -> None:
        self._crc = 0

    def encode_line(self, document: Mapping[str, object]) -> bytes:
        """Write the next line; the document has at least one member."""
        body = compact_json(document)[:-1]  # without its brace
        self._crc = zlib.crc32(body, self._crc)
        return b'%b,"crc":"%08x"}\n' % (body, self._crc)


def decode_lines(data: bytes) -> Iterator[Mapping[str, Any]]:
    """Read all lines but one that was cut off by the end of the file.

    Raises:
        ValueError: a line is not what was written, with its number (from 1).

    """
    crc = 0
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        body, mark, tail = line.rpartition(_CHECKSUM_KEY)
        crc = zlib.crc32(body, crc)
        if not mark or tail != _hex_checksum(crc) + _CLOSE:
            raise ValueError(f"line {number} is damaged")
        yield json.loads(line)


def _hex_checksum(crc: int) -> bytes:
    return f"{crc:08x}".encode()


FORMAT = 2
"""That of an apply to several clusters; to the connection without alias alone it is 1."""


@dataclass(frozen=True, slots=True)
class PlanVariables:
    """What a plan was made with: values of variables as JSON, and names of sensitive ones given."""

    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = ()


NO_VARIABLES = PlanVariables()


@dataclass(frozen=True, slots=True)
class JournalHeader:
    """What an apply is about. `plan` is the checksum of its plan, `at` ISO 8601 in UTC.

    `cluster_id` and `clusters` are those of the plan's `PlanBasis`. `nonce` is that of the saved
    plan, "" where it was made on the spot. `variables` are the values of the variables, as JSON,
    without sensitive ones, and `secret_variables` names those that were given.
    """

    plan: str
    lineage: str
    from_serial: int
    cluster_id: str
    kplan_version: str
    at: str
    clusters: Mapping[str, str] = field(default_factory=dict)
    nonce: str = ""
    variables: Mapping[str, Any] = field(default_factory=dict, repr=False)
    secret_variables: tuple[str, ...] = ()


_UNSETTLED = frozenset({OutcomeStatus.UNKNOWN, OutcomeStatus.IN_PROGRESS})
_UNFINISHED = frozenset({OutcomeStatus.SKIPPED, OutcomeStatus.IN_PROGRESS})


@dataclass(frozen=True, slots=True)
class Journal:
    """What is known of an apply that may have been killed.

    `changes` are those that touch the cluster, without `attributes`, and with `before` only where
    that names the object that another one replaces.
    `sent_keys` holds what went out at least once. `outcome_counts` tells for each serial that was
    about to be written how many of the outcomes, in order, that state holds.
    """

    header: JournalHeader
    changes: tuple[Change, ...]
    sent_keys: frozenset[ObjectKey]
    outcomes: tuple[Outcome, ...]
    outcome_counts: Mapping[int, int]
    is_ended: bool

    @property
    def unsettled_keys(self) -> frozenset[ObjectKey]:
        """Items that were sent and whose outcome only the cluster knows."""
        known = (each for each in self.outcomes if each.status not in _UNSETTLED)
        return self.sent_keys - {each.change.key for each in known if not each.is_unknown_creation}

    @property
    def is_finished(self) -> bool:
        """Whether its apply came to its end by itself, and only lacks answers."""
        is_done = self.is_ended and all(each.status not in _UNFINISHED for each in self.outcomes)
        return is_done and bool(self.unsettled_keys)

    @property
    def unsent_changes(self) -> tuple[Change, ...]:
        """What was never tried."""
        return tuple(each for each in self.changes if each.key not in self.sent_keys)

    def without(self, keys: Container[ObjectKey]) -> "Journal":
        """Return the journal of the same apply without some of its changes."""
        outcomes = [each for each in self.outcomes if each.change.key not in keys]
        counts = {
            serial: sum(each.change.key not in keys for each in self.outcomes[:count])
            for serial, count in self.outcome_counts.items()
        }
        return replace(
            self,
            changes=tuple(each for each in self.changes if each.key not in keys),
            sent_keys=frozenset(each for each in self.sent_keys if each not in keys),
            outcomes=tuple(outcomes),
            outcome_counts=counts,
        )

    def with_connections(self, names: Mapping[str, str]) -> "Journal":
        """Return it with other names of connections, by their former names."""
        if not names:
            return self

        def rename(change: Change) -> Change:
            return replace(change, provider=names.get(change.provider, change.provider))

        sent = {(kind, of, names.get(at, at)) for kind, of, at in self.sent_keys}
        outcomes = (replace(each, change=rename(each.change)) for each in self.outcomes)
        changes = tuple(map(rename, self.changes))
        return replace(self, changes=changes, sent_keys=frozenset(sent), outcomes=tuple(outcomes))

    def before_write(self, serial: int) -> "Journal":
        """Return the journal for when the state is to be written with all of its outcomes."""
        counts = {**self.outcome_counts, serial: len(self.outcomes)}
        return replace(self, outcome_counts=counts)


def read_journal(path: Path) -> Journal | None:
    """Read the journal beside the state at `path`; None where no apply was interrupted.

    A last line without an end is left out: its write was cut off, and nothing followed from it.

    Raises:
        StateCorruptError: anything else about it is not as it was written, or a newer version wrote
            it.
        StateError: it cannot be opened.

    """
    file = journal_path(path)
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as failure:
        raise StateError(f"The journal {file} cannot be read: {failure.strerror}.") from failure
    way_out = f"Move {file} away; kplan plan then shows what its apply has done."
    return decode_journal(data, str(file), way_out)


def decode_journal(data: bytes, where: str, way_out: str) -> Journal:
    """Read a journal; `way_out` is the hint where it is damaged. Raises StateCorruptError."""
    try:
        return _parse_journal(decode_lines(data))
    except StateCorruptError as fault:
        raise StateCorruptError(f"{where}: {fault.detail}", fault.hint) from fault
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as failure:
        raise StateCorruptError(f"The journal {where} is damaged: {failure}.", way_out) from failure


def replay_journal(state: State, journal: Journal) -> tuple[State, frozenset[ObjectKey]]:
    """Merge the journal of an apply into the state; items with unknown outcome are listed.

    The serial stays: the caller raises it when it writes. Folding the same journal again into what
    came of it changes nothing.

    Raises:
        StateError: the journal is not about this state, or the state went on without it.

    """
    head = journal.header
    if state.serial == head.from_serial == 0:
        state = replace(state, lineage=head.lineage)  # killed before the state was ever written
    if state.lineage != head.lineage:
        raise StateError(f"The journal belongs to the state {head.lineage}, not {state.lineage}.")
    if state.serial != head.from_serial and state.serial not in journal.outcome_counts:
        raise StateError(
            f"The journal begins at serial {head.from_serial}; the state went on to serial "
            f"{state.serial} without it.",
            "Move the journal away; kplan plan shows what its apply has done.",
        )
    news = journal.outcomes[journal.outcome_counts.get(state.serial, 0) :]
    done = [(each.change, each) for each in news if each.status is OutcomeStatus.APPLIED]
    folded = replace(
        state,
        cluster_id=head.cluster_id or state.cluster_id,
        clusters={**state.clusters, **head.clusters},
        owned=owned_after_outcomes(KINDS, state.owned, done, news),
    )
    return folded, journal.unsettled_keys


def replay_unlocked(
    state: State, journal: Journal, read_state: Callable[[], State]
) -> tuple[State, frozenset[ObjectKey]]:
    """Replay a journal that was read without the lock after the state; raises as `replay_journal`.

    An apply may have ended and another one begun between the two reads: the state is read again.
    """
    try:
        return replay_journal(state, journal)
    except StateError:
        return replay_journal(read_state(), journal)


def unanswered_creations(journal: Journal | None, state: State) -> Iterator[Change]:
    """List what only the journal knows of: sent, without an answer, not in the state."""
    if journal is None:
        return
    unowned = journal.unsettled_keys - {each.key for each in state.owned.values()}
    yield from (each for each in journal.changes if each.key in unowned and each.after is not None)


def discard_journal(path: Path) -> None:
    """Remove the journal beside the state at `path`: all it says is in the state.

    Raises:
        StateError: it cannot be removed.

    """
    file = journal_path(path)
    try:
        file.unlink(missing_ok=True)
        sync_folder(file.parent)
    except OSError as failure:
        raise StateError(f"The journal {file} cannot be removed: {failure.strerror}.") from failure


def journal_path(path: Path) -> Path:
    """Return the journal of the state at `path`."""
    return real_path(path).with_suffix(".journal")


def encode_journal(journal: Journal) -> bytes:
    """Write down all that is known of an apply."""
    writes: defaultdict[int, list[int]] = defaultdict(list)
    for serial, count in journal.outcome_counts.items():
        writes[count].append(serial)
    numbers = {each.key: number for number, each in enumerate(journal.changes)}
    lines = [header_line(journal.header, len(numbers)), *map(change_line, journal.changes)]
    if journal.sent_keys:
        lines.append({"sent": sorted(numbers[each] for each in journal.sent_keys)})
    lines += ({"writes": serial} for serial in writes[0])
    for count, each in enumerate(journal.outcomes, start=1):
        lines.append(outcome_line(numbers[each.change.key], each))
        lines += ({"writes": serial} for serial in writes[count])
    if journal.is_ended:
        lines.append({"end": True})
    chain = ChecksumChain()
    return b"".join([chain.encode_line(each) for each in lines])


_CREATE_FIRST_KINDS = frozenset(each.name for each in KINDS if isinstance(each, CreateFirstKind))
"""Their values have no secrets, and their old object may be there beside the new one."""


def header_line(head: JournalHeader, changes: int) -> dict[str, object]:
    """Write the first line."""
    return {"format": FORMAT if head.clusters else 1, "changes": changes, **encode_fields(head)}


def change_line(change: Change) -> dict[str, object]:
    """Write the fields of a change that the state needs, without secrets and defaults."""
    is_beside = change.action is Action.REPLACE and change.kind in _CREATE_FIRST_KINDS
    replaced = change.before if is_beside else None
    found: dict[str, object] = {
        "address": str(change.address),
        "kind": change.kind,
        "identity": change.identity,
        "action": change.action,
        "before": None if replaced is None else to_stored_document(replaced),
        "after": None if change.after is None else to_stored_document(change.after),
        "declared_at": _encode_source_range(change.declared_at),
    }
    for name in _OPTIONAL_FIELDS:
        if held := getattr(change, name):
            found[name] = to_plain(held)
    return {"change": found}


_OPTIONAL_FIELDS = ("uid", "is_protected", "previous", "reason", "provider", "others", "sensitive")
"""Fields that are empty in most changes."""


@cache
def _encode_source_range(declared_at: SourceRange | None) -> object:
    """Write the range of a block, which many instances share."""
    return to_plain(declared_at)


def outcome_line(number: int, outcome: Outcome) -> dict[str, object]:
    """Write the outcome of the change with that number."""
    return {
        "item": number,
        "status": outcome.status,
        "refusal": to_plain(outcome.refusal),
        "attempts": outcome.attempts,
        "ms": outcome.elapsed_ms,
        "note": outcome.note,
        "verified": outcome.is_verified,
        "uid": outcome.uid,
        **({"steps": list(outcome.done_steps)} if outcome.done_steps else {}),
        **({"lost": True} if outcome.has_lost_answer else {}),
    }


def _parse_journal(lines: Iterator[Mapping[str, Any]]) -> Journal:
    first = next(lines, None)
    if first is None:
        raise ValueError("it has no first line")
    if int(first["format"]) > FORMAT:
        raise StateCorruptError(
            f"Its format is {first['format']}; this version of kplan reads up to {FORMAT}.",
            f"Use kplan {first['kplan_version']} or later.",
        )
    count = int(first["changes"])
    changes = tuple(from_plain(Change, line["change"]) for line in islice(lines, count))
    if len(changes) != count:
        raise ValueError(f"it holds {len(changes)} of {count} changes")
    return _parse_entries(from_plain(JournalHeader, first), changes, lines)


def _parse_entries(
    head: JournalHeader, changes: tuple[Change, ...], lines: Iterator[Mapping[str, Any]]
) -> Journal:
    sent: set[ObjectKey] = set()
    outcomes: list[Outcome] = []
    covered: dict[int, int] = {}
    is_ended = False
    for line in lines:
        match line:
            case {"sent": numbers}:
                sent.update(changes[number].key for number in numbers)
            case {"item": number}:
                outcomes.append(_parse_outcome(changes[number], line))
            case {"writes": serial}:
                covered[serial] = len(outcomes)
            case {"end": True}:
                is_ended = True
            case _:
                raise ValueError("it has a line of an unknown sort")
    return Journal(head, changes, frozenset(sent), tuple(outcomes), covered, is_ended)


def _parse_outcome(change: Change, found: Mapping[str, Any]) -> Outcome:
    refused = found["refusal"]
    return Outcome(
        change,
        OutcomeStatus(found["status"]),
        None if refused is None else from_plain(Refusal, refused),
        found["attempts"],
        found["ms"],
        found["note"],
        found["verified"],
        found["uid"],
        done_steps=tuple(found.get("steps", ())),
        has_lost_answer=found.get("lost", False),
    )
