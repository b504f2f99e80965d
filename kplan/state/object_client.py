"""A client of the bucket of a state, with the options of the state block and the environment."""

import json
import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

from kplan.cluster.topology import ObjectService, StateBucket, is_loopback
from kplan.model.errors import StateError

if TYPE_CHECKING:
    from obstore.store import AzureStore, GCSStore, S3Store

    Store = S3Store | GCSStore | AzureStore

_CONNECT_TIMEOUT = "10s"
_REQUEST_TIMEOUT = "30s"
_BRIEF_TIMEOUT = "10s"
_RETRIES = 2
_RETRY_TIMEOUT = timedelta(seconds=3)
_VARIABLE_PREFIXES: Mapping[ObjectService, str] = {
    ObjectService.S3: "AWS",
    ObjectService.GCS: "GOOGLE",
    ObjectService.AZURE: "AZURE",
}
_ENDPOINT_VARIABLES: Mapping[ObjectService, tuple[str, ...]] = {
    ObjectService.S3: ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    ObjectService.AZURE: ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}
"""What obstore takes the endpoint from where the state block has none."""
_SERVICE_ACCOUNT_FILES = (
    "GOOGLE_SERVICE_ACCOUNT",
    "GOOGLE_SERVICE_ACCOUNT_PATH",
    "GOOGLE_APPLICATION_CREDENTIALS",
)
_TRUE = frozenset({"1", "true", "yes", "on"})


def open_store(place: StateBucket, *, is_brief: bool = False) -> "Store":
    """Return a client of the bucket; `_environment_allows_http` has what it raises.

    It sends a request again a few times within seconds; `Retrier` waits longer. A brief one does
    not wait long for an answer either.
    """
    from obstore.store import AzureStore, GCSStore, S3Store

    opened: Any
    match place.service:
        case ObjectService.S3:
            opened, options = S3Store, {"region": place.region, "endpoint": place.endpoint}
        case ObjectService.GCS:
            opened, options = GCSStore, {"base_url": place.endpoint}
        case ObjectService.AZURE:
            opened, options = (
                AzureStore,
                {"account_name": place.account, "endpoint": place.endpoint},
            )
        case _:
            assert_never(place.service)
    store: Store = opened(
        place.bucket,
        config={name: each for name, each in options.items() if each},
        client_options={
            "allow_http": place.allow_http if place.endpoint else _environment_allows_http(place),
            "connect_timeout": _CONNECT_TIMEOUT,
            "timeout": _BRIEF_TIMEOUT if is_brief else _REQUEST_TIMEOUT,
        },
        retry_config={"max_retries": _RETRIES, "retry_timeout": _RETRY_TIMEOUT},
    )
    return store


def _environment_allows_http(place: StateBucket) -> bool:
    """Whether the environment, whose endpoint is used, allows plain http.

    The rule is that of the state block: obstore itself ignores *_ALLOW_HTTP beside other options.

    Raises:
        StateError: the endpoint is another machine over http, and http is not allowed.

    """
    flag = f"{_VARIABLE_PREFIXES[place.service]}_ALLOW_HTTP"
    if place.allow_http or os.environ.get(flag, "").lower() in _TRUE:
        return True
    name, endpoint = _environment_endpoint(place.service)
    if not endpoint.startswith("http://"):
        return False
    if is_loopback(endpoint):
        return True
    raise StateError(
        f"{name} is {endpoint}: the state would be sent in clear to another machine.",
        f"Use https://, or set {flag}=true.",
    )


def _environment_endpoint(service: ObjectService) -> tuple[str, str]:
    """Return what obstore takes the endpoint from, and the endpoint; "" for none."""
    if service is ObjectService.GCS:
        return "gcs_base_url of the service account", _service_account_endpoint()
    names = [each for each in _ENDPOINT_VARIABLES[service] if os.environ.get(each)]
    return (names[0], os.environ[names[0]]) if names else ("", "")


def _service_account_endpoint() -> str:
    """Return the address in the service account; obstore reports one that cannot be read."""
    text = os.environ.get("GOOGLE_SERVICE_ACCOUNT_KEY", "")
    files = [os.environ[each] for each in _SERVICE_ACCOUNT_FILES if os.environ.get(each)]
    try:
        found = json.loads(text or (Path(files[0]).read_bytes() if files else "{}"))
        return str(found.get("gcs_base_url") or "")
    except (OSError, ValueError, AttributeError):
        return ""
