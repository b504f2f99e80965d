"""Giving controllers in place of brokers (KIP-919)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kplan.kafka.settings.connection import Endpoint
from kplan.kafka.settings.resolver import ResolvedSettings, resolve_settings
from kplan.model.diagnostic import SourceRange

TWO = (Endpoint("c1", 9093), Endpoint("c2", 9093))


@dataclass
class Block:
    """A provider block as the configuration hands it over."""

    arguments: Mapping[str, object]
    ranges: Mapping[str, SourceRange] = field(default_factory=dict)
    folder: Path | None = None


def resolved(
    arguments: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    option: str = "",
    file: Path | None = None,
) -> ResolvedSettings:
    block = None if arguments is None else Block(arguments)
    return resolve_settings(
        block, environ or {}, folder=Path(), properties_file=file, controllers=option
    )


@pytest.mark.parametrize(
    ("arguments", "environ", "option"),
    [
        ({"bootstrap_controllers": ["c1:9093", "c2:9093"]}, {}, ""),
        ({"config": {"bootstrap.controllers": "c1:9093,c2:9093"}}, {}, ""),
        (None, {"KPLAN_BOOTSTRAP_CONTROLLERS": "c1:9093, c2:9093"}, ""),
        ({"bootstrap_servers": ["b:9092"]}, {"KAFKA_BOOTSTRAP_SERVERS": "b:1"}, "c1:9093,c2:9093"),
        ({"bootstrap_controllers": ["c9:1"]}, {}, "c1:9093,c2:9093"),
    ],
)
def test_controllers_are_given_in_every_way(
    arguments: Mapping[str, object] | None, environ: Mapping[str, str], option: str
) -> None:
    """K919-01, K919-03: the option wins, and leaves brokers out wherever they are given."""
    found = resolved(arguments, environ, option)
    assert found.diagnostics == ()
    assert found.settings is not None
    assert found.settings.bootstrap_controllers == TWO
    assert found.settings.bootstrap_servers == ()
    assert found.settings.is_direct
    assert not found.settings.allows_direct


def test_a_properties_file_of_java_clients_may_name_controllers(tmp_path: Path) -> None:
    """K919-01."""
    file = tmp_path / "direct.properties"
    file.write_text("bootstrap.controllers=c1:9093,c2:9093\n")
    settings = resolved(file=file).settings
    assert settings is not None
    assert settings.bootstrap_controllers == TWO


@pytest.mark.parametrize(
    ("arguments", "environ"),
    [
        ({"bootstrap_servers": ["b:1"], "bootstrap_controllers": ["c1:1"]}, {}),
        ({"bootstrap_controllers": ["c1:1"]}, {"KPLAN_BOOTSTRAP_SERVERS": "b:1"}),
        ({"bootstrap_servers": ["b:1"]}, {"KPLAN_BOOTSTRAP_CONTROLLERS": "c1:1"}),
    ],
)
def test_brokers_and_controllers_together_are_a_mistake(
    arguments: Mapping[str, object], environ: Mapping[str, str]
) -> None:
    """K919-02: wherever the two are given."""
    found = resolved(arguments, environ)
    assert found.settings is None
    (problem,) = found.diagnostics
    assert problem.code == "KP308"
    assert "bootstrap" in problem.detail.lower()
    assert "-bootstrap-controller" in problem.hint


def test_an_address_of_the_option_is_read_as_any_other() -> None:
    found = resolved(None, {}, "c1")
    assert [f"{each.code} {each.detail}" for each in found.diagnostics] == [
        'KP302 "c1" is not host:port.'
    ]


@pytest.mark.parametrize(
    ("arguments", "environ"),
    [
        ({"bootstrap_controllers": ["c1:1"], "allow_direct": True}, {}),
        (None, {"KPLAN_BOOTSTRAP_CONTROLLERS": "c1:1", "KPLAN_ALLOW_DIRECT": "true"}),
    ],
)
def test_changes_are_allowed_apart(
    arguments: Mapping[str, object] | None, environ: Mapping[str, str]
) -> None:
    """K919-06."""
    settings = resolved(arguments, environ).settings
    assert settings is not None
    assert settings.allows_direct


def test_tls_follows_the_block_as_with_brokers() -> None:
    """K919-03: the option changes the addresses, and nothing of how they are spoken to."""
    for arguments in ({"bootstrap_controllers": ["c1:1"]}, {"bootstrap_servers": ["b:1"]}):
        option = "" if "bootstrap_controllers" in arguments else "c1:1"
        settings = resolved(arguments, {}, option).settings
        assert settings is not None
        assert settings.security_protocol == "SSL"
    settings = resolved(None, {"KPLAN_TLS_ENABLED": "false"}, "c1:1").settings
    assert settings is not None
    assert settings.security_protocol == "PLAINTEXT"
