"""State in a bucket: an index that is written on condition, and objects that never change."""

import base64
import binascii
import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from kplan.cluster.topology import (
    CURRENT_STATE,
    FIRST_OF_JOURNAL,
    ObjectService,
    StateBucket,
    UncertainWriteError,
)
from kplan.model.dataclass import dataclass
from kplan.model.errors import (
    ObjectStoreAuthError,
    ObjectStoreUnreachableError,
    StateCorruptError,
    StateError,
    StateLockedError,
)
from kplan.state.object_client import open_store
from kplan.state.object_failure import (
    CREDENTIAL_HINTS,
    failure_reason,
    is_http_refused,
    is_refused,
    lacks_bucket,
)
from kplan.state.object_retry import Retrier, interruptible

if TYPE_CHECKING:
    from obstore import ObjectMeta

    from kplan.state.object_client import Store

_FORMAT = 1
_INLINE_BYTES = 1024
"""Up to here a record stands in the index itself; longer ones have an object of their own."""
_MAX_ATTEMPTS = 5
_ORPHAN_AGE = timedelta(days=1)
_MAX_ORPHANS = 50
_NO_ANSWER = "no answer came"

_RETRY_LIMIT_S = 60.0
"""For how long an outage is waited out of a store that has answered this run before."""


@dataclass(frozen=True, slots=True)
class _Index:
    """All records at one moment: those that are short, and the objects of the others.

    `writer` is the claim under which it was written, and `number` counts its writes: no two
    indexes are the same bytes, which would have the same ETag.
    """

    writer: str
    number: int = 0
    short: Mapping[str, bytes] = field(default_factory=dict)
    long: Mapping[str, str] = field(default_factory=dict)


_Version = dict[str, str]
"""The ETag of an index, and its version where the bucket keeps versions."""


class ObjectRecords:
    """The records of one state in a bucket.

    The object KEY is the index; every change replaces it on condition that it is still the one
    that was read, so all records change at once or none does. A claim writes the index too, so
    that whoever claimed before is shut out. For one thread at a time.
    """

    def __init__(self, place: StateBucket) -> None:
        if find_spec("obstore") is None:
            raise StateError(
                "A state in a bucket needs the package obstore, which is not installed.",
                "Install it: pip install 'kplan[objects]'",
            )
        self._place = place
        self._clients: dict[bool, Store] = {}
        self._retrier = Retrier(lambda: _RETRY_LIMIT_S)
        self._claimed: tuple[_Index, _Version] | None = None
        self._objects: dict[str, bytes] = {}

    @property
    def location(self) -> str:
        """The bucket and the key."""
        return str(self._place)

    @property
    def key(self) -> str:
        """The key of this state."""
        return self._place.key

    def list_keys(self) -> tuple[str, ...]:
        """List the keys with the same beginning that have a state."""
        import obstore

        folder, _, name = self._place.key.rpartition("/")
        start = f"{folder}/{name}" if folder else name
        with self._told_errors():
            found = self._retrier.call(
                lambda: obstore.list_with_delimiter(self._store(), folder or None)["objects"]
            )
        paths = [str(each["path"]) for each in found]
        return tuple(
            sorted(
                path
                for path in paths
                if path.startswith(start.partition("@")[0]) and self._holds_state(path)
            )
        )

    def _holds_state(self, key: str) -> bool:
        try:
            other = ObjectRecords(replace(self._place, key=key))
            found = other._read_index()  # the records themselves are not needed
            marks = {CURRENT_STATE, FIRST_OF_JOURNAL}
            return found is not None and bool(marks & {*found[0].short, *found[0].long})
        except (StateCorruptError, ObjectStoreAuthError):  # of another configuration, perhaps
            return key.startswith(f"{self._place.key.partition('@')[0]}@")

    def beside(self, key: str) -> "ObjectRecords":
        """Return the state under another key of the bucket."""
        return ObjectRecords(replace(self._place, key=key))

    def peek(self) -> Mapping[str, bytes] | None:
        """Return the committed records."""
        return self.read()

    def read(self) -> Mapping[str, bytes] | None:
        """Return the committed records, None without an index."""
        missing = ""
        for _ in range(_MAX_ATTEMPTS):
            found = self._read_index()
            if found is None:
                return None
            try:
                return self._load(found[0])
            except FileNotFoundError as gone:  # replaced and removed since the index was read
                missing = str(gone)
        raise StateCorruptError(f"An object that {self.location} names is missing: {missing}")

    def claim(self) -> Mapping[str, bytes]:
        """Shut out every other writer by a new index, and read."""
        self.close()
        writer = uuid.uuid4().hex
        lost: BaseException | None = None
        for _ in range(_MAX_ATTEMPTS):
            found = self._read_index()
            if found is not None and found[0].writer == writer:
                self._claimed = found  # ours, although the answer was lost
                return self._load(found[0])
            before, version = found or (_Index(writer), None)
            index = _Index(writer, 0, before.short, before.long)
            try:
                self._claimed = index, self._put_index(index, version)
            except UncertainWriteError as failure:
                lost = failure.__cause__ if str(failure) == _NO_ANSWER else None
                continue
            self._remove_orphans(index)
            return self._load(index)
        if lost is not None:
            raise self._unreachable_error(lost) from lost
        raise StateLockedError(
            f"Other runs are writing to {self.location}, again and again.",
            "See who holds the lock: kplan lock status",
        )

    def write(self, changes: Mapping[str, bytes | None]) -> None:
        """Put and remove records by one index; raises UncertainWriteError."""
        if self._claimed is None:
            raise UncertainWriteError("nothing is claimed")
        before, version = self._claimed
        self._claimed = None  # until the outcome is certain
        short = {name: each for name, each in before.short.items() if name not in changes}
        long = {name: each for name, each in before.long.items() if name not in changes}
        for name, value in changes.items():
            if value is None:
                continue
            if len(value) <= _INLINE_BYTES:
                short[name] = value
            else:
                long[name] = self._put_object(value)
        index = _Index(before.writer, before.number + 1, short, long)
        self._claimed = index, self._put_index(index, version)
        self._remove_objects(set(before.long.values()) - set(long.values()))

    def close(self) -> None:
        """Forget the claim; the next write needs another one."""
        self._claimed = None

    def without_retries(self) -> AbstractContextManager[None]:
        """Wait for no outage in the block."""
        return self._retrier.suspend()

    def _read_index(self) -> tuple[_Index, _Version] | None:
        with self._told_errors():
            try:
                meta, data = self._retrier.call(lambda: self._get(self._place.key))
            except FileNotFoundError as failure:
                if lacks_bucket(failure):
                    raise
                return None
            version = _version(meta["e_tag"], meta["version"])
            return _decode_index(data, self.location), version

    def _get(self, name: str) -> "tuple[ObjectMeta, bytes]":
        import obstore

        answer = obstore.get(self._store(), name)
        return answer.meta, bytes(answer.bytes())

    def _put_index(self, index: _Index, version: _Version | None) -> _Version:
        """Replace the version that was read, or put the first one; raises UncertainWriteError.

        It may be sent again after one that was executed without an answer: that finds another
        version, as if another writer came between, and the next claim sees which it was.
        """
        import obstore
        from obstore.exceptions import (
            AlreadyExistsError,
            GenericError,
            PreconditionError,
        )

        mode: Any = "create" if version is None else version
        data = _encode_index(index)
        with self._told_errors():
            try:
                result = self._retrier.call(
                    lambda: obstore.put(self._store(), self._place.key, data, mode=mode),
                    is_write=True,
                )
            except (AlreadyExistsError, PreconditionError) as failure:
                raise UncertainWriteError("another writer came between") from failure
            except FileNotFoundError as failure:
                if version is None or lacks_bucket(failure):
                    raise
                raise UncertainWriteError("the index was deleted") from failure
            except GenericError as failure:
                if is_refused(failure):
                    raise
                raise UncertainWriteError(_NO_ANSWER) from failure
        return _version(result["e_tag"], result["version"])

    def _load(self, index: _Index) -> Mapping[str, bytes]:
        names = set(index.long.values())
        self._objects = {name: each for name, each in self._objects.items() if name in names}
        for name in names - set(self._objects):
            with self._told_errors(passes_missing=True):
                self._objects[name] = self._retrier.call(partial(self._get, name))[1]
        return {**index.short, **{name: self._objects[each] for name, each in index.long.items()}}

    def _put_object(self, value: bytes) -> str:
        """Store it under a unique name."""
        import obstore

        name = f"{self._place.key}.records/{uuid.uuid4().hex}"
        with self._told_errors():
            self._retrier.call(lambda: obstore.put(self._store(), name, value), is_write=True)
        self._objects[name] = value
        return name

    def _remove_objects(self, names: set[str]) -> None:
        """Remove objects that no index names any more; failures only cost space."""
        import obstore
        from obstore.exceptions import BaseError

        for name in names:
            self._objects.pop(name, None)
            try:
                interruptible(partial(obstore.delete, self._store(), name))
            except (BaseError, OSError):
                return

    def _remove_orphans(self, index: _Index) -> None:
        """Remove old unindexed objects of killed writers; a few at a time."""
        import obstore
        from obstore.exceptions import BaseError

        named, before = set(index.long.values()), datetime.now(UTC) - _ORPHAN_AGE
        try:
            found = interruptible(obstore.list(self._store(), f"{self._place.key}.records").collect)
        except (BaseError, OSError):
            return
        old = [str(each["path"]) for each in found if each["last_modified"] < before]
        self._remove_objects(set([each for each in old if each not in named][:_MAX_ORPHANS]))

    def _store(self) -> "Store":
        is_brief = self._retrier.is_brief
        if is_brief not in self._clients:
            self._clients[is_brief] = open_store(self._place, is_brief=is_brief)
        return self._clients[is_brief]

    @contextmanager
    def _told_errors(self, *, passes_missing: bool = False) -> Iterator[None]:
        from obstore.exceptions import (
            BaseError,
            PermissionDeniedError,
            UnauthenticatedError,
        )

        try:
            yield
        except FileNotFoundError as failure:
            if passes_missing and not lacks_bucket(failure):
                raise
            kind = "container" if self._place.service is ObjectService.AZURE else "bucket"
            raise StateError(
                f"The {kind} {self._place.bucket}, which stores the state, does not exist.",
                "Create it, with versioning, before the first apply.",
            ) from failure
        except (PermissionDeniedError, UnauthenticatedError) as failure:
            raise self._refused_error(failure) from failure
        except BaseError as failure:
            if is_refused(failure):
                raise self._refused_error(failure) from failure
            raise self._unreachable_error(failure) from failure

    def _unreachable_error(self, failure: BaseException) -> ObjectStoreUnreachableError:
        if is_http_refused(failure):
            return ObjectStoreUnreachableError(
                f"The address of {self.location} is http://, which is not allowed.",
                "Use https://, or set allow_http = true in the state block.",
            )
        return ObjectStoreUnreachableError(
            f"{self.location} does not answer: {failure_reason(failure, *self._retrier.outage)}.",
            "Check region and endpoint in the state block, and the network.",
        )

    def _refused_error(self, failure: BaseException) -> ObjectStoreAuthError:
        return ObjectStoreAuthError(
            f"{self.location} cannot be read or written with these credentials: "
            f"{failure_reason(failure)}.",
            CREDENTIAL_HINTS[self._place.service],
        )


def _version(e_tag: str | None, version: str | None) -> _Version:
    values = {"e_tag": e_tag, "version": version}
    return {name: each for name, each in values.items() if each is not None}


def _encode_index(index: _Index) -> bytes:
    document = {
        "format": _FORMAT,
        "writer": index.writer,
        "number": index.number,
        "records": {name: base64.b64encode(each).decode() for name, each in index.short.items()},
        "objects": dict(index.long),
    }
    return json.dumps(document, sort_keys=True).encode()


def _decode_index(data: bytes, location: str) -> _Index:
    try:
        document = json.loads(data)
        if document["format"] != _FORMAT:
            raise StateCorruptError(f"{location} is of a newer format, or not a state of kplan.")
        return _Index(
            str(document["writer"]),
            int(document["number"]),
            {name: base64.b64decode(each) for name, each in document["records"].items()},
            {name: str(each) for name, each in document["objects"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as failure:
        raise StateCorruptError(f"{location} is damaged, or not a state of kplan.") from failure
