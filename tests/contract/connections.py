"""Connections to brokers of every security, as a user would set them up."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from kplan.kafka.settings.connection import ConnectionSettings, Timeouts, seconds
from kplan.kafka.settings.resolver import resolve_settings
from kplan.kafka.wire.driver import preflight
from kplan.model.errors import ClusterError
from kplan.sandbox.layout import SandboxSpec, Security
from kplan.sandbox.runtime import format_properties
from tests.brokers import oauthbearer_properties, takes_tokens

LOGIN = {"sasl.mechanism": "PLAIN", "sasl.username": "admin", "sasl.password": "secret"}


def settings_from(properties: Mapping[str, str], folder: Path) -> ConnectionSettings:
    """Read the settings from a properties file, as a user would have them."""
    file = folder / "client.properties"
    file.write_text(format_properties(properties))
    found = resolve_settings(None, {}, folder=folder, properties_file=file)
    assert found.diagnostics == ()
    assert found.settings is not None
    return replace(found.settings, timeouts=Timeouts(seconds(5), seconds(20)))


def told(settings: ConnectionSettings, *, within_s: float = 2.0) -> ClusterError:
    """Give the error of a preflight, which must come soon (1 s; a loaded machine gets more)."""
    begun = time.monotonic()
    with pytest.raises(ClusterError) as caught:
        preflight(settings)
    assert time.monotonic() - begun < within_s
    return caught.value


def every_mechanism(keys: Path) -> SandboxSpec:
    """Make a node with every mechanism inside TLS, which hangs up after a second of silence.

    `admin` has the password `secret`.
    """
    package = "org.apache.kafka.common.security"
    users = 'username="admin" password="secret" user_admin="secret"'
    logins = {
        "plain": f"{package}.plain.PlainLoginModule required {users};",
        "scram-sha-256": f"{package}.scram.ScramLoginModule required;",
        "scram-sha-512": f"{package}.scram.ScramLoginModule required;",
    }
    client = "listener.name.client"
    mechanisms = (*logins, "oauthbearer") if takes_tokens() else (*logins,)
    return SandboxSpec(
        security=Security.TLS,
        server_properties={
            "listener.security.protocol.map": "CLIENT:SASL_SSL,CONTROLLER:SSL",
            f"{client}.ssl.client.auth": "none",
            **{f"{client}.{name}.sasl.jaas.config": login for name, login in logins.items()},
            **(oauthbearer_properties(client, keys) if takes_tokens() else {}),
            "sasl.enabled.mechanisms": ",".join(mechanisms).upper(),
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "authorizer.class.name": "",
            "connections.max.idle.ms": "1000",
        },
    )
