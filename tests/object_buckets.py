"""A bucket of each service for a test, with its credentials in the environment."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kplan.cluster.topology import ObjectService, StateBucket
from tests.object_servers import s3_server
from tests.object_services import (
    AZURE_ACCOUNT,
    AZURE_KEY,
    azure_server,
    gcs_credentials,
    gcs_server,
    install_azurite,
    install_gcs,
)

SERVICES = tuple(each.value for each in ObjectService)


@contextmanager
def bucket_of(
    service: str, key: str, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> Iterator[StateBucket]:
    """Start a server of the service with a bucket; skips where it cannot be installed."""
    place = StateBucket("states", key, allow_http=True, service=ObjectService(service))
    match place.service:
        case ObjectService.S3:
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
            with s3_server(place.bucket) as endpoint:
                yield replace_endpoint(place, endpoint, region="us-east-1")
        case ObjectService.GCS:
            if (program := install_gcs()) is None:
                pytest.skip(
                    "fake-gcs-server cannot be built: no Go, no module proxy, or not in time"
                )
            with gcs_server(program, place.bucket) as endpoint:
                monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", gcs_credentials(endpoint))
                yield replace_endpoint(place, endpoint)
        case ObjectService.AZURE:
            if (program := install_azurite()) is None:
                pytest.skip("Azurite cannot be installed: no npm, no registry, or not in time")
            with azure_server(program, place.bucket, folder / "azurite") as endpoint:
                monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", AZURE_KEY)
                yield replace_endpoint(place, endpoint, account=AZURE_ACCOUNT)


def replace_endpoint(
    place: StateBucket, endpoint: str, *, region: str = "", account: str = ""
) -> StateBucket:
    """Return the place with the address of its server."""
    return StateBucket(
        place.bucket,
        place.key,
        region,
        endpoint,
        allow_http=True,
        service=place.service,
        account=account,
    )
