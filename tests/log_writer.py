"""A broker that writes a log at random, and what rotates, packs and removes that."""

import gzip
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

BANNER = "===> User\n===> Running\n\tprincipal.builder.class = null\n"


class Broker:
    """A process that writes a log, and what rotates that."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder, self.chance = folder, chance
        self.log = folder / "x.log"
        self.log.touch()
        self.style = chance.choice(["number", "date", "copy number", "copy date", "kubelet"])
        self.noise = chance.choice([0.0, 0.5, 0.95])
        self.is_buffered = chance.random() < 0.5
        self.banner = BANNER * chance.choice([0, 0, 1, 8, 100])
        self._written = self._second = 0
        self._rest = ""
        """What of the last line is not written yet."""
        self.is_copied = False
        self.is_exact = not self.style.startswith("copy")
        self.history: list[str] = []

    def time(self) -> str:
        """Return the time of a line; some threads write theirs late."""
        self._second += 1
        at = datetime(2026, 11, 1, tzinfo=UTC) + timedelta(
            seconds=self._second + self.chance.choice([10, 10, 10, 3])
        )
        return f"{at:%Y-%m-%d %H:%M:%S},000"

    def line(self) -> str:
        self._written += 1
        if self.chance.random() < self.noise:
            text = "x" * self.chance.choice([1, 60])
            return f"[{self.time()}] INFO other {self._written} {text}\n"
        return f"[{self.time()}] INFO Principal = User:a request {self._written};\n"

    def write(self) -> None:
        text = self._rest + "".join(self.line() for _ in range(self.chance.randint(1, 4)))
        cut = len(text)
        if self.is_buffered:
            cut -= self.chance.choice([0, 1, 1, 20, 70])
        cut = max(cut, 0)
        with self.log.open("a") as file:
            file.write(text[:cut])
        self._rest = text[cut:]

    def start(self) -> None:
        """Print what does not differ from one start to the next."""
        if not self._rest:
            with self.log.open("a") as file:
                file.write(self.banner)

    def rotate(self) -> None:
        if not self.log.exists() or not self.log.stat().st_size:
            return
        is_copy = self.style.startswith("copy")
        if self.style.endswith("number"):
            self._shift()
            name = "x.log.1"
        else:
            self._second += 1
            mark = "." if self.style == "kubelet" else "-"
            name = f"x.log{mark}20261101-{self._second:06}"
        if is_copy:
            (self.folder / name).write_bytes(self.log.read_bytes())
            self.is_copied = True
            if self.chance.random() < 0.7:
                self.truncate()
        else:
            renamed = self.log.rename(self.folder / name)
            if self._rest:  # the process has the file open
                with renamed.open("a") as file:
                    file.write(self._rest if self.chance.random() < 0.7 else "")
                self._rest = ""
            if self.chance.random() < 0.7:
                self.log.touch()
            self.start()

    def truncate(self) -> None:
        """Make the log empty after it was copied."""
        if self.is_copied:
            self.log.write_bytes(b"")
            self.is_copied = False

    def _shift(self) -> None:
        numbered = sorted(
            ((int(each.name.split(".")[2]), each) for each in self.folder.glob("x.log.*")),
            reverse=True,
        )
        for number, each in numbered:
            name = each.name.split(".")
            if number >= 5:
                each.unlink()
            else:
                each.rename(self.folder / ".".join(["x", "log", str(number + 1), *name[3:]]))

    def _rotated(self) -> list[Path]:
        return sorted(each for each in self.folder.glob("x.log?*") if each.suffix != ".gz")

    def pack(self) -> None:
        """Pack a file, at times not to its end yet."""
        if not (found := self._rotated()):
            return
        path = self.chance.choice(found)
        packed = gzip.compress(path.read_bytes())
        target = path.with_name(f"{path.name}.gz")
        if self.chance.random() < 0.2:
            self.is_exact = False
            target.write_bytes(packed[: self.chance.randint(0, len(packed))])
            return
        target.write_bytes(packed)
        path.unlink()

    def remove(self) -> None:
        found = sorted(self.folder.glob("x.log?*"))
        if len(found) > 2:
            self.chance.choice(found).unlink()

    def act(self) -> None:
        self.truncate()
        name = self.chance.choices(
            ["write", "rotate", "pack", "remove", "start"], [6, 2, 2, 0.3, 0.3]
        )[0]
        self.history.append(name)
        getattr(self, name)()
