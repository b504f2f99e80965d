"""An archive of Kafka's classes as Java loads and links them: it halves the time of a start."""

import tempfile
from dataclasses import replace
from pathlib import Path

from kplan.model.errors import SandboxError
from kplan.sandbox.artifacts import locked
from kplan.sandbox.java import FIRST_WITH_AOT
from kplan.sandbox.kit import Kit
from kplan.sandbox.launch import ended_on_failure, launch
from kplan.sandbox.process import end
from kplan.sandbox.spec import SandboxSpec, Security
from kplan.sandbox.step import Progress, Stage, Step, silent

TRAINING_S = 120.0


def with_archive(kit: Kit, kafka: Path, version: str, progress: Progress) -> Kit:
    """Add the archive of this Java and Kafka to the kit, recording it on first use (JEP 514).

    A broker is started once for it and ended again. Where that does not work, Kafka starts without
    an archive, and it is not tried again: the archive is a matter of speed only.
    """
    if kit.java.major < FIRST_WITH_AOT:
        return kit
    file = kafka / f"java-{kit.java.version}.aot"
    if not file.exists():
        with locked(file.with_suffix(".lock")):
            if not file.exists():
                progress(Step(Stage.WARM, f"Kafka {version}", 0, 1))
                _record(kit, file, version)
                progress(Step(Stage.WARM, f"Kafka {version}", 1, 1))
    return replace(kit, archive=file) if file.stat().st_size else kit


def _record(kit: Kit, file: Path, version: str) -> None:
    fresh = file.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    recording = replace(kit, options=(f"-XX:AOTCacheOutput={fresh}",))
    spec = SandboxSpec(kafka_version=version, security=Security.SASL)
    with tempfile.TemporaryDirectory(prefix="kplan-") as folder:
        try:
            trained = launch(Path(folder), spec, recording, silent, TRAINING_S)
            with ended_on_failure() as processes:
                processes.update(trained.processes)
                end(processes.values(), grace_s=TRAINING_S)
        except SandboxError:
            fresh.unlink(missing_ok=True)
        fresh.touch()
    fresh.replace(file)
