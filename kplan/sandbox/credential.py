"""Users of a sandbox, and the settings that clients and brokers need for them."""

import secrets
from collections.abc import Mapping
from dataclasses import field

from kplan.model.dataclass import dataclass

ADMIN = "admin"
BROKER = "broker"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
# Every user may use every mechanism; this is the one in their properties file, so that all three
# are there to be tried.
USERS = {ADMIN: "SCRAM-SHA-512", "alice": "SCRAM-SHA-256", "bob": "PLAIN", "ci": "SCRAM-SHA-512"}


@dataclass(frozen=True, slots=True)
class User:
    """A user of the sandbox: the principal that ACLs name, and the settings to connect as them."""

    name: str
    principal: str
    client: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Both ends of the security of a sandbox. The first user is the super user."""

    protocol: str
    users: tuple[User, ...]
    super_users: tuple[str, ...]
    server: Mapping[str, str] = field(repr=False)
    scram: tuple[str, ...] = field(repr=False, default=())


def make_open_credentials() -> Credentials:
    """Let everyone in as the super user."""
    anonymous = User("anonymous", "User:ANONYMOUS", {"security.protocol": "PLAINTEXT"})
    return Credentials("PLAINTEXT", (anonymous,), (anonymous.principal,), {})


def make_sasl_credentials(*, has_scram: bool = True, has_tokens: bool = True) -> Credentials:
    """Make users with new passwords; without SCRAM all of them log in by PLAIN.

    Without delegation tokens the brokers get no key for them: they would not start with one.
    """
    passwords = {name: secrets.token_urlsafe(12) for name in (*USERS, BROKER)}
    plain = "org.apache.kafka.common.security.plain.PlainLoginModule"
    known = " ".join(f'user_{name}="{password}"' for name, password in passwords.items())
    server = {
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        **({"delegation.token.secret.key": secrets.token_urlsafe(24)} if has_tokens else {}),
    }
    for listener in ("client", "controller"):
        server |= {
            f"listener.name.{listener}.plain.sasl.jaas.config": f"{plain} required "
            f'username="{BROKER}" password="{passwords[BROKER]}" {known};',
            **{
                f"listener.name.{listener}.{mechanism.lower()}.sasl.jaas.config": (
                    f"{_login_module(mechanism)} required;"
                )
                for mechanism in MECHANISMS[1:]
            },
        }
    return Credentials(
        "SASL_PLAINTEXT",
        tuple(
            _sasl_user(name, mechanism if has_scram else "PLAIN", passwords[name])
            for name, mechanism in USERS.items()
        ),
        (f"User:{ADMIN}", f"User:{BROKER}"),
        server,
        tuple(
            f"{mechanism}=[name={name},password={passwords[name]}]"
            for name in USERS
            for mechanism in MECHANISMS[1:]
            if has_scram
        ),
    )


def scram_config(password: str) -> str:
    """Return the SCRAM credentials of one password as kafka-configs.sh takes them."""
    return ",".join(f"{mechanism}=[password={password}]" for mechanism in MECHANISMS[1:])


def _sasl_user(name: str, mechanism: str, password: str) -> User:
    return User(
        name,
        f"User:{name}",
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f"{_login_module(mechanism)} required "
            f'username="{name}" password="{password}";',
        },
    )


def _login_module(mechanism: str) -> str:
    package = "org.apache.kafka.common.security"
    if mechanism == "PLAIN":
        return f"{package}.plain.PlainLoginModule"
    return f"{package}.scram.ScramLoginModule"
