"""Settings of Spark that are credentials: they are shown nowhere, and Java reads them in a file."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from kplan.fleet.compat import properties_options, spark_version
from kplan.model.fleet import SECRET_SETTINGS

REDACTION_SETTING = "spark.redaction.regex"
REDACTION_PATTERN = (
    r"(?i)secret|password|passphrase|\bpwd\b|token|header[.]authorization|jaas|keystore[.]key"
    r"|credentials?\b(?![.]provider)"  # not the class that finds them
    r"|api[-._]?key|(?:access|account|private|shared)[-._]?key|azure[.]sas|connection[-.]string"
    r"|//[^/@\s]*:[^@\s]+@|thin:[^/@\s]+/[^@\s]+@"  # user and password in a URL; of Oracle
)
"""What is searched for in names and values of settings, by kplan, and by Spark in Java's syntax."""
_WITH_NAMES = {REDACTION_SETTING, SECRET_SETTINGS}
"""Settings that have names of others, and no credentials."""


def redaction_pattern(conf: Mapping[str, str]) -> str:
    """Return the pattern by which Spark hides settings, some by their names.

    Its pages show those of Hadoop without their prefix, too.
    """
    names = (re.escape(each.removeprefix("spark.hadoop.")) for each in _secret_names(conf))
    return "|".join((REDACTION_PATTERN, *(f"{each}$" for each in names)))


def _secret_names(conf: Mapping[str, str]) -> list[str]:
    return [each for each in conf.get(SECRET_SETTINGS, "").split(",") if each]


def split_secrets(options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Split settings into those that may be shown, and credentials."""
    named = _secret_names(options)
    secret = {
        name: value for name, value in options.items() if name in named or is_secret(name, value)
    }
    return {name: value for name, value in options.items() if name not in secret}, secret


def is_secret(name: str, value: str) -> bool:
    """Whether a setting of Spark is hidden by its pages and its event log, too."""
    return name not in _WITH_NAMES and re.search(REDACTION_PATTERN, f"{name}={value}") is not None


def secret_options(secret: Mapping[str, str], file: Path) -> tuple[str, ...]:
    """Write credentials into a file that only we can read; returns how spark-submit reads it.

    The command line of a process can be read by everyone on the machine.
    """
    if not secret:
        return ()
    lines = (f"{name} {_property_value(value)}\n" for name, value in secret.items())
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
        out.writelines(lines)
    return properties_options(str(file), spark_version())


def _property_value(value: str) -> str:
    """Write a value as files of properties have it."""
    escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"\\{escaped}" if escaped.startswith((" ", "\t", "=", ":")) else escaped
