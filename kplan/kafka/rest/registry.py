"""A schema registry that speaks Confluent's REST API: Confluent's, Karapace, Apicurio, Redpanda."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from kplan.cluster.errors import (
    ERRORS,
    SCHEMA_INCOMPATIBLE,
    SCHEMA_INVALID,
    SCHEMA_IS_OLD,
    SCHEMA_REFERENCED,
    refusal,
)
from kplan.cluster.registry import (
    NewSchema,
    RegisteredSchema,
    SchemaReference,
    SubjectGraph,
    reference_waves,
    schema_graph,
)
from kplan.cluster.request import ItemResult
from kplan.kafka.rest.session import Answer, RestSession
from kplan.kafka.settings.connection import RestService, Timeouts
from kplan.model.errors import ClusterError, Refusal

_CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
_MIN_BULK = 20
"""For more subjects than these all are read at once, where the registry can."""

_INCOMPATIBLE = 409
_UNPROCESSABLE = 422
_REFERENCE_EXISTS = 42206
_NO_SUCH_ENDPOINT = (404, 405)
_SCHEMA_PARTS = frozenset({"schema", "schemaType", "references"})
_DELETED_USERS = (
    "The schemas that refer to it are deleted, and this registry counts deleted ones: delete them "
    "for good (DELETE /subjects/NAME?permanent=true), or forget this schema with a removed block."
)


class RestRegistry:
    """The `SchemaRegistry` port over HTTP."""

    def __init__(self, service: RestService, timeouts: Timeouts) -> None:
        self._session = RestSession(service, timeouts, _CONTENT_TYPE)

    def subjects(self) -> frozenset[str]:
        """Name all subjects; raises UnreadableError."""
        return frozenset(map(str, self._session.read_list("/subjects", "Subjects")))

    def latest_schemas(
        self, subjects: Collection[str] | None = None
    ) -> Mapping[str, RegisteredSchema | Refusal]:
        """Read the latest version of the subjects; raises UnreadableError."""
        wanted = self.subjects() if subjects is None else frozenset(subjects)
        bulk = self._read_bulk() if len(wanted) > _MIN_BULK else {}
        found = self._session.map(
            sorted(wanted), lambda each: self._read_latest(each, bulk.get(each))
        )
        return {name: each for name, each in found.items() if each is not None}

    def check_schemas(self, specs: Sequence[NewSchema]) -> Mapping[str, ItemResult]:
        """Ask whether the schemas could be registered now."""
        coming = {each.subject for each in specs}
        checks = {each.subject: each for each in specs}
        return self._session.map(checks, lambda name: self._check(checks[name], coming))

    def register_schemas(self, specs: Sequence[NewSchema]) -> Mapping[str, ItemResult]:
        """Register schemas, those first that others of the call refer to."""
        by_subject = {each.subject: each for each in specs}
        results: dict[str, ItemResult] = {}
        for wave in reference_waves(schema_graph(specs)):
            results |= self._session.map(wave, lambda name: self._register(by_subject[name]))
        return results

    def set_compatibility(self, levels: Mapping[str, str]) -> Mapping[str, ItemResult]:
        """Set the compatibility level of subjects."""
        return self._session.map(
            levels,
            lambda name: self._write(
                "PUT", f"/config/{_quote(name)}", {"compatibility": levels[name]}
            ),
        )

    def delete_subjects(
        self, subjects: SubjectGraph, *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        """Delete subjects softly, with their level."""
        results: dict[str, ItemResult] = {}
        ask = self._check_delete(frozenset(subjects)) if validate_only else self._delete
        for wave in reversed(reference_waves(subjects)):
            results |= self._session.map(wave, ask)
        return results

    def close(self) -> None:
        """Close all connections."""
        self._session.close()

    def _read_bulk(self) -> Mapping[str, Mapping[str, Any]]:
        """Read the latest schemas in one request; {} where the registry does not name subjects."""
        answer = self._session.read("/schemas?latestOnly=true")
        listed = answer.body if answer.is_ok and isinstance(answer.body, list) else []
        return {each["subject"]: each for each in listed if {"subject", "version"} <= each.keys()}

    def _read_latest(
        self, subject: str, known: Mapping[str, Any] | None
    ) -> RegisteredSchema | Refusal | None:
        if known is None:
            answer = self._session.read(f"/subjects/{_quote(subject)}/versions/latest")
            if answer.is_absent:
                return None
            if not answer.is_ok or not isinstance(answer.body, dict):
                return answer.refusal()
            known = answer.body
        level = self._session.read(f"/config/{_quote(subject)}")
        if not level.is_ok and not level.is_absent:
            return level.refusal()
        return _registered_schema(subject, known, level)

    def _check(self, spec: NewSchema, coming: Collection[str]) -> ItemResult:
        """Look for an old version first, then check compatibility; both register nothing."""
        subject = _quote(spec.subject)
        body = self._body(spec)
        if isinstance(body, Refusal):
            known_soon = any(each.subject in coming for each in spec.references)
            return None if known_soon else body
        found = self._post(f"/subjects/{subject}", body)
        if isinstance(found, Refusal):
            return found
        if found.is_ok and isinstance(found.body, dict):
            return self._check_version(spec.subject, int(found.body.get("version", 0)))
        if not found.is_absent:
            return _schema_refusal(found)
        result = self._compare(subject, body)
        if spec.references and _is_unprocessable(result) and not self._judges_references(subject):
            return None
        return _item_result(result)

    def _compare(self, subject: str, body: object) -> Answer | Refusal:
        """Ask whether a schema is compatible; `subject` is quoted."""
        path = f"/compatibility/subjects/{subject}/versions"
        result = self._post(f"{path}?verbose=true", body)
        if _is_unknown_endpoint(result):  # registries of some years ago check against one version
            result = self._post(f"{path}/latest?verbose=true", body)
        return result

    def _judges_references(self, subject: str) -> bool:
        """Whether the registry does not call invalid what it has: Apicurio loads no references."""
        latest = self._session.read(f"/subjects/{subject}/versions/latest").body
        if not isinstance(latest, dict) or not latest.get("references"):
            return True
        kept = {name: each for name, each in latest.items() if name in _SCHEMA_PARTS}
        return not _is_unprocessable(self._compare(subject, kept))

    def _check_version(self, subject: str, version: int) -> ItemResult:
        latest = self._session.read(f"/subjects/{_quote(subject)}/versions/latest")
        newest = latest.body.get("version") if isinstance(latest.body, dict) else None
        if newest in {None, version}:
            return None
        return _refuse(
            SCHEMA_IS_OLD,
            f"It is version {version} of {subject}, and the latest is {newest}. A registry does "
            "not register an older version again.",
        )

    def _register(self, spec: NewSchema) -> ItemResult:
        body = self._body(spec)
        if isinstance(body, Refusal):
            return body
        answer = self._session.write("POST", f"/subjects/{_quote(spec.subject)}/versions", body)
        if isinstance(answer, Refusal):
            return answer
        return None if answer.is_ok else _schema_refusal(answer)

    def _body(self, spec: NewSchema) -> dict[str, object] | Refusal:
        """Write a schema for a request, with the versions of what it refers to."""
        body: dict[str, object] = {"schema": spec.schema, "schemaType": spec.schema_type}
        references = []
        for each in spec.references:
            version = each.version or self._latest_version(each.subject)
            if isinstance(version, Refusal):
                return version
            references.append({"name": each.name, "subject": each.subject, "version": version})
        return {**body, "references": references} if references else body

    def _latest_version(self, subject: str) -> int | Refusal:
        try:
            answer = self._session.read(f"/subjects/{_quote(subject)}/versions/latest")
        except ClusterError as failure:
            return _refuse("REST_UNAVAILABLE", failure.detail)
        if not answer.is_ok or not isinstance(answer.body, dict):
            return _refuse(SCHEMA_INVALID, f"It refers to subject {subject}: {answer.message}")
        return int(answer.body["version"])

    def _check_delete(self, going: Collection[str]) -> Callable[[str], ItemResult]:
        def check(subject: str) -> ItemResult:
            versions = self._session.read(f"/subjects/{_quote(subject)}/versions")
            listed = versions.body if versions.is_ok and isinstance(versions.body, list) else []
            for each in listed:
                users = self._referring_subjects(subject, each) - {*going}
                if users:
                    return _refuse(
                        SCHEMA_REFERENCED,
                        f"Version {each} of {subject} is used by {', '.join(sorted(users))}.",
                    )
            return None

        return check

    def _referring_subjects(self, subject: str, version: int) -> set[str]:
        path = f"/subjects/{_quote(subject)}/versions/{version}/referencedby"
        ids = self._session.read(path).body
        users: set[str] = set()
        for each in ids if isinstance(ids, list) else []:
            answer = self._session.read(f"/schemas/ids/{each}/subjects")
            users |= {*answer.body} if answer.is_ok and isinstance(answer.body, list) else set()
        return users

    def _delete(self, subject: str) -> ItemResult:
        answer = self._session.write("DELETE", f"/subjects/{_quote(subject)}")
        if isinstance(answer, Refusal):
            return answer
        if not answer.is_ok and not answer.is_absent:
            if answer.error_code == _REFERENCE_EXISTS and self._has_deleted_users_only(subject):
                return _refuse(SCHEMA_REFERENCED, f"{answer.message} {_DELETED_USERS}")
            return _schema_refusal(answer)
        self._session.write("DELETE", f"/config/{_quote(subject)}")  # it may have none
        return None

    def _has_deleted_users_only(self, subject: str) -> bool:
        """Whether schemas refer to it, and no subject has any of them."""
        try:
            versions = self._session.read(f"/subjects/{_quote(subject)}/versions").body
            path = f"/subjects/{_quote(subject)}/versions/{{}}/referencedby"
            listed = versions if isinstance(versions, list) else []
            ids = [self._session.read(path.format(each)).body for each in listed]
            is_listed = any(isinstance(each, list) and each for each in ids)
            return is_listed and self._check_delete(frozenset({subject}))(subject) is None
        except ClusterError:
            return False

    def _write(self, method: str, path: str, body: object) -> ItemResult:
        answer = self._session.write(method, path, body)
        if isinstance(answer, Refusal):
            return answer
        return None if answer.is_ok else _schema_refusal(answer)

    def _post(self, path: str, body: object) -> Answer | Refusal:
        """Ask by POST, which some questions take."""
        return self._session.write("POST", path, body)


def _quote(name: str) -> str:
    return quote(name, safe="")


def _registered_schema(subject: str, found: Mapping[str, Any], level: Answer) -> RegisteredSchema:
    result = level.body if level.is_ok and isinstance(level.body, dict) else {}
    references = found.get("references") or ()
    return RegisteredSchema(
        subject,
        int(found["version"]),
        int(found["id"]),
        str(found.get("schemaType") or "AVRO"),
        str(found["schema"]),
        tuple(
            sorted(
                SchemaReference(str(each["name"]), str(each["subject"]), int(each["version"]))
                for each in references
            )
        ),
        str(result.get("compatibilityLevel") or ""),
    )


def _is_unknown_endpoint(answer: Answer | Refusal) -> bool:
    """Whether the registry lacks the endpoint; an unknown subject has an error code of its own."""
    return (
        isinstance(answer, Answer)
        and answer.status in _NO_SUCH_ENDPOINT
        and answer.error_code == answer.status
    )


def _is_unprocessable(answer: Answer | Refusal) -> bool:
    """Whether the registry calls the schema itself invalid."""
    return isinstance(answer, Answer) and answer.status == _UNPROCESSABLE


def _item_result(answer: Answer | Refusal) -> ItemResult:
    if isinstance(answer, Refusal):
        return answer
    if answer.is_absent:
        return None
    if not answer.is_ok or not isinstance(answer.body, dict):
        return _schema_refusal(answer)
    if answer.body.get("is_compatible", True):
        return None
    messages = [str(each) for each in answer.body.get("messages") or ()]
    text = "; ".join(messages) if messages else "The registry gives no reason."
    return _refuse(SCHEMA_INCOMPATIBLE, text)


def _schema_refusal(answer: Answer) -> Refusal:
    if answer.error_code == _REFERENCE_EXISTS:
        return _refuse(SCHEMA_REFERENCED, answer.message)
    if answer.status == _INCOMPATIBLE:
        return _refuse(SCHEMA_INCOMPATIBLE, answer.message)
    if _is_unprocessable(answer):
        return _refuse(SCHEMA_INVALID, answer.message)
    return answer.refusal()


def _refuse(name: str, message: str) -> Refusal:
    return refusal(ERRORS[name].code, message)
