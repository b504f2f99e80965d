"""The reason of a failed request is that of the service, without what may be secret."""

import pytest

from kplan.state.object_failure import failure_reason, is_refused, is_transient

AZURE = (
    "Generic MicrosoftAzure error: Error performing GET https://a.blob.core.windows.net/c/k"
    "?sv=2021&sig=SECRET in 4.6ms - Server returned non-2xx status code: 403 Forbidden: \ufeff"
    '<?xml version="1.0" encoding="utf-8"?><Error><Code>AuthenticationFailed</Code><Message>Server '
    "failed to authenticate the request.\nRequestId:1\nTime:2</Message></Error>"
)
S3 = (
    "The operation lacked the necessary privileges to complete for path a: Error performing PUT "
    "https://s3/b/a in 4ms - Server returned non-2xx status code: 403 Forbidden: <Error><Code>"
    "AccessDenied</Code><Message>Access Denied</Message><StringToSign>SECRET</StringToSign></Error>"
)
OAUTH = (
    "Generic GCS error: Error performing token request: Error performing POST "
    "https://oauth2.googleapis.com/token in 90ms - Server returned non-2xx status code: 400 Bad "
    'Request: {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}'
)
SAS = (
    "Generic MicrosoftAzure error: Error performing GET https://a/c/k?sv=1&sig=SECRET in 60.1s, "
    "after 30 retries, max_retries: 60, retry_timeout: 60s  - HTTP error: error sending request"
)
TIMEOUT = SAS + "\n\nDebug source:\nHttp(HttpError { kind: Timeout, source: TimedOut })"
METADATA = (
    "Generic S3 error: Error performing PUT http://169.254.169.254/latest/api/token in 1.1s, after "
    "2 retries, max_retries: 2, retry_timeout: 180s  - HTTP error: error sending request"
)


@pytest.mark.parametrize(
    ("text", "reason", "refused"),
    [
        (AZURE, "AuthenticationFailed: Server failed to authenticate the request", True),
        (S3, "AccessDenied: Access Denied", True),
        (OAUTH, "invalid_grant: Invalid JWT Signature", True),
        (SAS, "HTTP error: error sending request (after 30 retries in 60 s)", False),
        (TIMEOUT, "it timed out (after 30 retries in 60 s)", False),
        (
            METADATA,
            "the environment has none, and this machine has no metadata service that gives any",
            True,
        ),
        ("Generic S3 error: see https://a/b?sig=SECRET now.", "see https://a/b now", False),
    ],
)
def test_a_reason_is_of_the_service_and_short(text: str, reason: str, *, refused: bool) -> None:
    found = failure_reason(Exception(text))
    assert found == reason
    assert "SECRET" not in found
    assert is_refused(Exception(text)) is refused


@pytest.mark.parametrize(
    ("text", "is_repeated"),
    [
        (AZURE, False),
        (OAUTH, False),
        (SAS, True),
        (METADATA, True),
        ("Server returned non-2xx status code: 503 Slow Down: <Code>SlowDown</Code>", True),
        ("Server returned non-2xx status code: 429 Too Many Requests: ", True),
        ("Server returned non-2xx status code: 501 Not Implemented: ", False),
        ("Generic S3 error: HTTP error: builder error", False),
        ("Generic GCS error: Unable to decode service account file", False),
    ],
)
def test_a_request_is_sent_again_where_it_may_succeed_later(
    text: str, *, is_repeated: bool
) -> None:
    assert is_transient(Exception(text)) is is_repeated
