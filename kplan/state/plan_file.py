"""A saved plan: a zip with the plan as JSON, and the facts needed to apply it."""

import hashlib
import hmac
import io
import json
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from kplan.model.dataclass import dataclass
from kplan.model.errors import KplanError, StalePlanError
from kplan.model.plan import Batch, Change, ObjectKey, Plan, Step
from kplan.model.version import VERSION
from kplan.state.atomic_file import real_path, write_atomically
from kplan.state.journal import NO_VARIABLES, PlanVariables
from kplan.state.json_document import compact_json, encode_fields, from_plain, to_plain
from kplan.state.ssh_signature import find_signer


@dataclass(slots=True)
class _ChangeTable:
    """Distinct changes in order of appearance."""

    rows: list[Change] = field(default_factory=list)
    _indexes: dict[ObjectKey, list[int]] = field(default_factory=lambda: defaultdict(list))

    def indexes(self, changes: Iterable[Change]) -> list[int]:
        return [self._index(each) for each in changes]

    def _index(self, change: Change) -> int:
        candidates = self._indexes[change.key]
        for place in candidates:
            if self.rows[place] is change or self.rows[place] == change:
                return place
        candidates.append(len(self.rows))
        self.rows.append(change)
        return candidates[-1]


def encode_plan(plan: Plan) -> bytes:
    """Write a plan. Secret attributes and values of sensitive outputs are left out."""
    table = _ChangeTable()
    shown = table.indexes(plan.changes)
    drift = table.indexes(plan.drift)
    batches = [
        {
            "kind": each.kind,
            "step": to_plain(each.step),
            "changes": table.indexes(each.changes),
            **({"provider": each.provider} if each.provider else {}),
        }
        for each in plan.batches
    ]
    outputs = tuple(
        replace(each, before=None, after=None) if each.is_sensitive else each
        for each in plan.outputs
    )
    rest = to_plain(replace(plan, changes=(), drift=(), batches=(), outputs=outputs))
    document = {
        "plan": rest,
        "shown": shown,
        "drift": drift,
        "batches": batches,
        "changes": [to_plain(each) for each in table.rows],
    }
    return compact_json(document)


def decode_plan(data: bytes) -> Plan:
    """Read a plan.

    Raises:
        AttributeError, IndexError, KeyError, TypeError, ValueError: the bytes are none.

    """
    document: Mapping[str, Any] = json.loads(data)
    rows = [from_plain(Change, each) for each in document["changes"]]
    return replace(
        from_plain(Plan, document["plan"]),
        changes=tuple(rows[place] for place in document["shown"]),
        drift=tuple(rows[place] for place in document["drift"]),
        batches=tuple(
            Batch(
                each["kind"],
                from_plain(Step, each["step"]),
                tuple(rows[place] for place in each["changes"]),
                str(each.get("provider", "")),
            )
            for each in document["batches"]
        ),
    )


FORMAT = 2
"""That of a plan for several clusters; for the connection without alias alone it is 1."""
META, PLAN, SHOW = "meta.json", "plan.json", "show.json"
_PLAN_AGAIN_HINT = "Make the plan again: kplan plan -out FILE"
_ZIP_TIMESTAMP = (1980, 1, 1, 0, 0, 0)
# What zipfile raises for bytes that are no zip, or one that was damaged, split or encrypted.
_ZIP_ERRORS = (
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError,
    ValueError,
)  # fmt: skip


_MAX_BYTES = 512 << 20
"""What a saved plan may unpack to: a few bytes per byte of a plan of 100,000 objects."""


@dataclass(frozen=True, slots=True)
class PlanMetadata:
    """What a saved plan is about. Times are ISO 8601 with offset; `nonce` is never used twice.

    `cluster_id` and `clusters` are those of its `PlanBasis`. `expires_at` "" means never.
    `checksum` identifies the actions of the plan. `variables` are the values it was made with, as
    JSON; sensitive ones are not among them, and `secret_variables` names those that were given.
    `state_file` is the file that the user named for the state, "" where none was named, and
    `state_name` how: a path that may be relative, "" in files of earlier versions, as is the
    `workspace`.
    """

    lineage: str
    serial: int
    cluster_id: str
    created_at: str
    expires_at: str
    nonce: str
    checksum: str
    kplan_version: str
    variables: Mapping[str, Any] = field(default_factory=dict, repr=False)
    clusters: Mapping[str, str] = field(default_factory=dict)
    secret_variables: tuple[str, ...] = ()
    state_file: str = ""
    state_name: str = ""
    workspace: str = ""


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """A plan as it was saved. `show` is what was put beside it for other tools, b"" if nothing.

    `signer` signed it with an SSH key; "" where that was not checked.
    """

    plan: Plan
    metadata: PlanMetadata
    show: bytes = b""
    signer: str = ""


@dataclass(frozen=True, slots=True)
class SignatureCheck:
    """Which signatures a saved plan must have: by a shared key, by one of the allowed signers."""

    key: str = field(default="", repr=False)
    signers: Path | None = None

    @property
    def is_required(self) -> bool:
        """Whether there is anything to check."""
        return bool(self.key) or self.signers is not None


NO_SIGNATURE = SignatureCheck()


def plan_metadata(
    plan: Plan,
    *,
    expires_at: str,
    nonce: str,
    variables: PlanVariables = NO_VARIABLES,
) -> PlanMetadata:
    """Describe a plan that is about to be saved."""
    return PlanMetadata(
        lineage=plan.based_on.lineage,
        serial=plan.based_on.serial,
        cluster_id=plan.based_on.cluster_id,
        created_at=plan.created_at,
        expires_at=expires_at,
        nonce=nonce,
        checksum=plan.checksum,
        kplan_version=VERSION,
        variables=variables.values,
        clusters=plan.based_on.clusters,
        secret_variables=variables.secrets,
    )


def write_plan(
    path: Path, plan: Plan, meta: PlanMetadata, show: bytes = b"", key: str = ""
) -> None:
    """Save a plan with mode 0600; the same input gives the same bytes.

    With a `key` all of it is signed (HMAC with SHA-256).

    Raises:
        KplanError: the file cannot be written.

    """
    body = encode_plan(plan)
    number = FORMAT if meta.clusters else 1
    about = {"format": number, "plan_sha256": _digest(body), **encode_fields(meta)}
    members = {PLAN: body, **({SHOW: show} if show else {})}
    if key:
        about["signature"] = _signature(about, members, key)
    members = {META: json.dumps(about, indent=2).encode() + b"\n", **members}
    try:
        write_atomically(real_path(path), _zip_members(members))
    except OSError as failure:
        raise KplanError(f"The plan {path} cannot be written: {failure.strerror}.") from failure


def _signature(about: Mapping[str, Any], members: Mapping[str, bytes], key: str) -> str:
    values = {name: value for name, value in about.items() if name != "signature"}
    found = hmac.new(key.encode(), compact_json(values), hashlib.sha256)
    for name in (PLAN, SHOW):
        found.update(hashlib.sha256(members.get(name, b"")).digest())
    return found.hexdigest()


def read_plan(path: Path, signature: SignatureCheck = NO_SIGNATURE) -> SavedPlan:
    """Read a saved plan, if it has the signatures that are required.

    Raises:
        KplanError: there is no such file, it is no plan of kplan, it is damaged or not signed.
        StalePlanError: a newer version of kplan made it.

    """
    try:
        data = path.read_bytes()
    except OSError as failure:
        raise KplanError(f"The plan {path} cannot be read: {failure.strerror}.") from failure
    # Before anything of it is parsed, and of the very bytes that are.
    signer = find_signer(data, path, signature.signers) if signature.signers else ""
    members, key = _unzip_members(path, data), signature.key
    try:
        about = _require_object(json.loads(members[META]))
        _check_format(path, about)
        if about["plan_sha256"] != _digest(members[PLAN]):
            raise _damaged_plan_error(path, "its checksum is wrong")
        if key and not hmac.compare_digest(
            str(about.get("signature", "")), _signature(about, members, key)
        ):
            raise KplanError(
                f"{path} is not signed with the key in KPLAN_PLAN_KEY.",
                "Make the plan with the same key set, or apply without the key.",
            )
        meta = from_plain(PlanMetadata, about)
        _require_object(meta.variables)
        _require_object(meta.clusters)
        _parse_expiry(meta)
        return SavedPlan(decode_plan(members[PLAN]), meta, members.get(SHOW, b""), signer)
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as failure:
        raise _damaged_plan_error(path, f"it lacks or misplaces {failure}") from failure


def is_plan_file(path: Path) -> bool:
    """Whether a file is a saved plan, whole or damaged, of this or another version of kplan."""
    try:
        with zipfile.ZipFile(path) as archive:
            return META in archive.namelist()
    except _ZIP_ERRORS:
        return False


def _parse_expiry(meta: PlanMetadata) -> datetime | None:
    """Return when a plan expires, None for never. Raises TypeError, ValueError."""
    if not meta.expires_at:
        return None
    found = datetime.fromisoformat(meta.expires_at)
    if found.tzinfo is None:
        raise ValueError("expires_at without an offset")
    return found


def check_not_expired(meta: PlanMetadata, now: datetime) -> None:
    """Check that the plan may still be applied at `now` (with offset).

    Raises:
        StalePlanError: its time is over.

    """
    expires_at = _parse_expiry(meta)
    if expires_at is not None and now >= expires_at:
        raise StalePlanError(
            f"The plan was made at {meta.created_at} and was good until {meta.expires_at}.",
            _PLAN_AGAIN_HINT,
        )


def _zip_members(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            entry = zipfile.ZipInfo(name, _ZIP_TIMESTAMP)
            entry.external_attr = 0o600 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, 6)
    return buffer.getvalue()


def _unzip_members(path: Path, data: bytes) -> Mapping[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = set(archive.namelist())
            if sum(each.file_size for each in archive.infolist()) > _MAX_BYTES:
                raise KplanError(
                    f"{path} unpacks to more than {_MAX_BYTES >> 20} MiB.", _PLAN_AGAIN_HINT
                )
            found = {name: archive.read(name) for name in names & {META, PLAN, SHOW}}
    except _ZIP_ERRORS as failure:
        raise KplanError(
            f"{path} is not a saved plan, or is damaged: {failure}.", _PLAN_AGAIN_HINT
        ) from failure
    if "tfplan" in names:
        raise KplanError(f"{path} is a plan of Terraform, not of kplan.", _PLAN_AGAIN_HINT)
    if META not in found:
        raise KplanError(f"{path} is an archive, but not a saved plan.", _PLAN_AGAIN_HINT)
    return found


def _check_format(path: Path, about: Mapping[str, Any]) -> None:
    if int(about["format"]) > FORMAT:
        raise StalePlanError(
            f"{path} was made by kplan {about.get('kplan_version', '')} in format "
            f"{about['format']}; this version reads up to format {FORMAT}.",
            "Apply it with the version that made it, or make it again with this one.",
        )


def _damaged_plan_error(path: Path, how: str) -> KplanError:
    return KplanError(f"The plan {path} is damaged: {how}.", _PLAN_AGAIN_HINT)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _require_object(found: object) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise TypeError("an object")
    return found
