"""A client of the bucket of a state, with the options of the state block and the environment."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, assert_never

from kplan.cluster.topology import ObjectService, StateBucket, is_loopback
from kplan.model.errors import StateError

if TYPE_CHECKING:
    from obstore.store import AzureStore, GCSStore, S3Store

    Store = S3Store | GCSStore | AzureStore

_CONNECT_TIMEOUT = "10s"
_REQUEST_TIMEOUT = "30s"
_RETRIES = 2
_VARIABLE_PREFIXES: Mapping[ObjectService, str] = {
    ObjectService.S3: "AWS",
    ObjectService.GCS: "GOOGLE",
    ObjectService.AZURE: "AZURE",
}
_ENDPOINT_VARIABLES: Mapping[ObjectService, tuple[str, ...]] = {
    ObjectService.S3: ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    ObjectService.GCS: (),
    ObjectService.AZURE: ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}
"""What obstore takes the endpoint from where the state block has none."""
_TRUE = frozenset({"1", "true", "yes", "on"})


def open_store(place: StateBucket) -> "Store":
    """Return a client of the bucket; `_environment_allows_http` has what it raises."""
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
            "timeout": _REQUEST_TIMEOUT,
        },
        retry_config={"max_retries": _RETRIES},
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
    names = [each for each in _ENDPOINT_VARIABLES[place.service] if os.environ.get(each)]
    endpoint = os.environ[names[0]] if names else ""
    if not endpoint.startswith("http://"):
        return False
    if is_loopback(endpoint):
        return True
    raise StateError(
        f"{names[0]} is {endpoint}: the state would be sent in clear to another machine.",
        f"Use https://, or set {flag}=true.",
    )
