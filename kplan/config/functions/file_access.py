"""Reading files for the file functions, and the paths they never read."""

import re
import stat
from pathlib import Path
from typing import Final

from kplan.model.dataclass import dataclass

MAX_BYTES: Final = 64 * 2**20
"""Size beyond which a file is not taken into a configuration."""

_OWN_FILE: Final = re.compile(rb'\s*\{\s*"format":\s*\d+,.{0,300}"lineage":', re.DOTALL)
_OWN: Final = "kplan's own state and secrets are not read into a configuration"

OWN_FOLDERS: Final = ("state", ".kplan")
"""Folders beside the configuration where kplan keeps state, journals and secrets."""

_PACKAGES: Final = Path(".kplan", "modules")
"""Modules that were fetched: their files are for them to read."""


SYSTEM_FOLDERS: Final = (Path("/proc"), Path("/sys"), Path("/dev"))
"""Where the system shows processes and devices: an environment is not configuration."""


class FileRefused(Exception):  # noqa: N818 - one reason among several, told by the function
    """A file that is not read. The text is the reason, without a full stop."""


@dataclass(frozen=True, slots=True)
class FileAccess:
    """The files of one run.

    Relative paths start at `root`, the folder in which kplan works, whatever module they are in
    (`path.module` leads from there). Never read are kplan's own folders beside the configuration,
    the files and folders in `closed`, and whatever begins like a state or a journal of kplan,
    wherever it lies; symbolic links do not lead there. Nor is anything of the system's processes
    and devices, and with `within` nothing outside of that folder.
    """

    root: Path
    closed: tuple[Path, ...] = ()
    within: Path | None = None

    def path(self, text: str) -> Path:
        """Find the place that a path in a configuration means.

        Raises:
            FileRefused: it lies where nothing is read, or is no path.

        """
        if "\0" in text:
            raise FileRefused("a path cannot contain a null character")
        found = self.root / Path(text).expanduser() if text.startswith("~/") else self.root / text
        self._check(found)
        return found

    def is_closed(self, path: Path) -> bool:
        """Return whether a file is one of kplan's own."""
        real = path.resolve()
        if real.is_relative_to((self.root / _PACKAGES).resolve()):
            return False
        own = [(self.root / name).resolve() for name in OWN_FOLDERS]
        closed = own + [each.resolve() for each in self.closed]
        return any(real.is_relative_to(each) for each in closed)

    def read(self, text: str) -> bytes:
        """Read a file.

        Raises:
            FileNotFoundError: there is none.
            FileRefused: it cannot or may not be read, or is larger than `MAX_BYTES`.

        """
        path = self.path(text)
        try:
            mode = path.stat().st_mode
            if not stat.S_ISREG(mode):
                sort = "is a directory" if stat.S_ISDIR(mode) else "is not a regular file"
                raise FileRefused(f"read {text or '.'}: {sort}")
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise FileRefused(f"open {text}: {(error.strerror or str(error)).lower()}") from None
        if len(data) > MAX_BYTES:
            raise FileRefused(f"{text} is larger than {MAX_BYTES} bytes")
        if _OWN_FILE.match(data):
            raise FileRefused(_OWN)
        return data

    def _check(self, path: Path) -> None:
        try:
            closed, real = self.is_closed(path), path.resolve()
        except (OSError, RuntimeError) as error:
            raise FileRefused(f"{path}: {error}") from None
        if closed:
            raise FileRefused(_OWN)
        if any(real.is_relative_to(each) for each in SYSTEM_FOLDERS):
            raise FileRefused(f"{real} is of the system and not read into a configuration")
        if self.within is not None and not real.is_relative_to(self.within):
            raise FileRefused(f"{real} is outside of the repository, and -untrusted is given")
