"""What a failure of obstore means, and the reason that the service gave for it."""

import json
import re
from collections.abc import Mapping

from kplan.cluster.topology import ObjectService

_REFUSED_MARKS = (
    *("InvalidAccessKeyId", "SignatureDoesNotMatch", "AccessDenied", "AuthorizationFailure"),
    *("AuthenticationFailed", "403 Forbidden", "401 Unauthorized"),
    "Error performing token request",
    # credentials that cannot be parsed; obstore has no type of its own for these
    *("Unable to open service account file", "Unable to decode service account file"),
    *("credential error", "Error reading pem file", "Invalid Access Key", "CryptoProvider error"),
)
_METADATA_MARKS = ("//169.254.169.254/", "//169.254.170.2/", "//metadata.google.internal/")
"""The services that are asked for credentials where the environment has none."""
_NO_BUCKET_MARKS = ("NoSuchBucket", "ContainerNotFound", "The specified bucket does not exist")
_NO_CREDENTIALS = (
    "the environment has none, and this machine has no metadata service that gives any"
)

_XML = re.compile(r"<Code>([^<]+)</Code>\s*(?:<Message>([^<\n]*))?")
_STATUS = re.compile(r"non-2xx status code: (\d+ [A-Za-z -]+?)(?::|$)", re.MULTILINE)
_TRANSIENT_STATUS = re.compile(r"^(?:5(?!01|05)\d\d|408|429) ")
_ATTEMPTS = re.compile(r"in ([\d.]+)(ms|s|m), after (\d+) retries")
_SYSTEM = re.compile(r'(?:message|error): "([^"]+)"')
_PREFIX = re.compile(r"^Generic \w+ error: ")
_URL_QUERY = re.compile(r"(https?://[^\s?]+)\?\S+")

CREDENTIAL_HINTS: Mapping[ObjectService, str] = {
    ObjectService.S3: (
        "Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; the user needs "
        "s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket."
    ),
    ObjectService.GCS: (
        "Check GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_SERVICE_ACCOUNT_KEY; the account needs the "
        "role Storage Object User."
    ),
    ObjectService.AZURE: (
        "Check AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN or the variables of a service "
        "principal; it needs the role Storage Blob Data Contributor."
    ),
}


def lacks_bucket(failure: BaseException) -> bool:
    """Whether the bucket does not exist."""
    return any(mark in str(failure) for mark in _NO_BUCKET_MARKS)


def is_refused(failure: BaseException) -> bool:
    """Whether the credentials are missing, cannot be parsed, are wrong, or lack a right."""
    text = str(failure)
    return any(mark in text for mark in (*_REFUSED_MARKS, *_METADATA_MARKS))


def is_http_refused(failure: BaseException) -> bool:
    """Whether the client refused an address because it is plain http."""
    return "builder error" in str(failure)


def is_transient(failure: BaseException) -> bool:
    """Whether the same request may succeed later: nothing answered, or only that it cannot now."""
    text = str(failure).partition("\n\nDebug source:")[0]
    if found := _STATUS.search(text):
        return _TRANSIENT_STATUS.match(found[1]) is not None
    return "HTTP error" in text and not is_http_refused(failure)


def is_answer(failure: BaseException) -> bool:
    """Whether the store answered; a failure of obstore without a type may be of this machine."""
    from obstore.exceptions import GenericError

    return not isinstance(failure, GenericError) or _STATUS.search(str(failure)) is not None


def failure_reason(failure: BaseException, retries: int = 0, waited_s: float = 0) -> str:
    """Return the reason in a few words: the code and message of the service, or of the system.

    Addresses lose their query, which may be a signature; headers and keys are in no reason. The
    retries are those after the last of which obstore failed.
    """
    head, _, debug = str(failure).strip().partition("\n\nDebug source:")
    if any(mark in head for mark in _METADATA_MARKS):
        return _NO_CREDENTIALS
    if reason := _service_reason(head):
        return reason
    attempts = f" (after {retries} retries in {waited_s:.0f} s)" if retries else _attempts(head)
    if "TimedOut" in debug or "kind: Timeout" in debug:
        return f"it timed out{attempts}"
    found = _SYSTEM.findall(debug) if "HTTP error" in head else []
    first = _PREFIX.sub("", head.partition("\n")[0]).rpartition(" - ")[2]
    return (found[-1] if found else _URL_QUERY.sub(r"\1", first).rstrip(".")) + attempts


def _service_reason(text: str) -> str:
    if found := _XML.search(text):
        code, message = found[1], (found[2] or "").strip().rstrip(".")
        return f"{code}: {message}" if message else code
    if (start := text.find("{")) >= 0 and (reason := _json_reason(text[start:])):
        return reason
    found = _STATUS.search(text)
    return found[1] if found else ""


def _json_reason(text: str) -> str:
    """Return the reason of Google's JSON API and of OAuth (RFC 6749)."""
    try:
        document = json.loads(text)
        error = document["error"]
        if isinstance(error, str):
            code, message = error, str(document.get("error_description", ""))
        else:
            code, message = str(error["code"]), str(error["message"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""
    message = message.partition("\n")[0].strip().rstrip(".")
    return f"{code}: {message}" if message else code


def _attempts(text: str) -> str:
    found = _ATTEMPTS.search(text)
    if found is None:
        return ""
    number, unit, retries = found.groups()
    return f" (after {retries} retries in {round(float(number))} {unit})"
