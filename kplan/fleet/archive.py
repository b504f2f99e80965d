"""What Java has loaded and linked of Spark, kept from the first start: later starts map it.

Java 25 keeps an AOT cache (JEP 514), earlier ones a dynamic archive of classes (JEP 350). It is a
matter of speed only: where there is none, or what is there does not fit, Spark starts as ever.
"""

import hashlib
import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kplan.sandbox.artifacts import cache_folder
from kplan.sandbox.java import FIRST_WITH_AOT

KEEPS_IN_S = 60.0
"""What the first Java may take to make it when its work is done: somebody waits for that."""
LEFT_S = 3600.0
"""What is half made goes after this time: somebody killed its kplan."""


@dataclass(frozen=True, slots=True)
class Archive:
    """The place of one. The file is empty where this Java made none when it was asked to."""

    file: Path
    is_aot: bool

    @property
    def is_there(self) -> bool:
        """Whether it was asked for before."""
        return self.file.exists()

    @property
    def fresh(self) -> Path:
        """Where this process makes it."""
        return self.file.with_name(f".{self.file.name}.{os.getpid()}.new")

    def options(self) -> tuple[str, ...]:
        """Give the options by which Java uses it, or makes it when it ends."""
        if not self.is_there:
            making = "AOTCacheOutput" if self.is_aot else "ArchiveClassesAtExit"
            return (f"-XX:{making}={self.fresh}",)
        if not self.file.stat().st_size:
            return ()
        if self.is_aot:
            return (f"-XX:AOTCache={self.file}", "-Xlog:aot*=off")
        return (f"-XX:SharedArchiveFile={self.file}", "-Xshare:auto", "-Xlog:cds*=off")

    def keep(self, code: int | None, *, had_time: bool) -> None:
        """Put what a Java that has ended made into its place; others of the same Spark go.

        `code` is its exit code. One that had the time to make it and did not is not asked again.
        """
        if self.is_there:
            return
        with suppress(OSError):  # no space: the next start tries again
            if had_time or code == 0:
                with self.fresh.open("ab") as file:
                    if code != 0:  # half made
                        file.truncate(0)
                for older in self.file.parent.glob("spark-*"):
                    older.unlink(missing_ok=True)
                self.fresh.replace(self.file)
            for left in self.file.parent.glob(".spark-*"):
                if left == self.fresh or time.time() - left.stat().st_mtime > LEFT_S:
                    left.unlink(missing_ok=True)


def archive_of(java: Path, spark_home: Path, folders: Sequence[str]) -> Archive | None:
    """Find the archive of a Java with the jars of a Spark; None where Java can make none.

    That is where folders are on its class path, or nothing tells its version.
    """
    try:
        release = (java.resolve().parents[1] / "release").read_text(encoding="utf-8")
        jars = sorted((spark_home / "jars").iterdir())
        facts = [f"{jar.name} {(s := jar.stat()).st_size} {s.st_mtime_ns}" for jar in jars]
        version = re.search(r'JAVA_VERSION="(\d+)', release)
        if folders or version is None:
            return None
        folder = cache_folder() / "spark" / _digest(str(java.resolve()), str(spark_home.resolve()))
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return Archive(folder / f"spark-{_digest(release, *facts)}", int(version[1]) >= FIRST_WITH_AOT)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
