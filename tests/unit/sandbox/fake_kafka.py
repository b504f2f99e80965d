"""A stand-in for Java and Kafka that starts in milliseconds and does as told."""

from pathlib import Path

from kplan.sandbox.runtime import Java, KafkaRuntime

SCRIPT = """#!/bin/sh
told=$(cat "$0.told")
for last; do
  case "$last" in -XX:AOTCacheOutput=*) archive="${last#*=}" ;; esac
done
case "$*" in *kafka.tools.StorageTool*)
  echo "$@" >> "$0.formats"
  case "$told" in bad-format) echo "Invalid value for a setting"; exit 1 ;; esac
  exit 0 ;;
esac
log="$(dirname "$last")/server.log"
echo "starting" >> "$log"
case "$told" in
  crash) echo "java.lang.OutOfMemoryError: Java heap space" >> "$log"; exit 1 ;;
  port-taken) echo "serve" > "$0.told"; echo "BindException: Address already in use" >> "$log"
    exit 1 ;;
  unregistered | never-registered)
    case "$told" in unregistered) echo "serve" > "$0.told" ;; esac
    echo "RuntimeException: Received a fatal error while waiting for the controller to" \
      "acknowledge that we are caught up" >> "$log"
    exit 1 ;;
  ports-gone-slowly) sleep 0.3; echo "BindException: Address already in use" >> "$log"; exit 1 ;;
  ports-gone) echo "BindException: Address already in use" >> "$log"; exit 1 ;;
  no-java) rm "$log"; echo "Unrecognized VM option"; exit 1 ;;
  hang) exec sleep 600 ;;
esac
echo "[BrokerLifecycleManager id=1] The broker has been unfenced." >> "$log"
echo "[KafkaRaftServer nodeId=1] Kafka Server started (kafka.server.KafkaRaftServer)" >> "$log"
case "$told" in stubborn) trap '' TERM; while :; do sleep 0.05; done ;; esac
if [ -n "$archive" ]; then
  trap 'echo archived > "$archive"; exit 0' TERM
  while :; do sleep 0.05; done
fi
exec sleep 600
"""


class FakeKafka:
    """`tell` changes what later processes do: serve, crash, hang, stubborn, bad-format..."""

    def __init__(self, folder: Path, java_version: str = "17.0.1") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.launcher = folder / "java"
        self.launcher.write_text(SCRIPT, encoding="utf-8")
        self.launcher.chmod(0o700)
        self.kit = KafkaRuntime(Java(self.launcher, java_version), (folder / "kafka.jar",))
        self.tell("serve")

    def tell(self, what: str) -> None:
        (self.launcher.parent / "java.told").write_text(what, encoding="utf-8")

    @property
    def formats(self) -> list[str]:
        return (self.launcher.parent / "java.formats").read_text(encoding="utf-8").splitlines()
