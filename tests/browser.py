"""A real browser for tests: headless Chromium from npm, kept in the cache of the tests.

It is spoken to in its DevTools protocol over a pipe: no port is opened.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kplan.sandbox.artifact import file_lock

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kplan-tests"
PACKAGE, VERSION = "@sparticuz/chromium", "153.0.0"
_INSTALL_S, _ANSWER_S = 300, 60
_UNPACK = """
const fs = require("fs"), zlib = require("zlib");
const { pipeline } = require("stream/promises");
const [from, to] = process.argv.slice(1);
pipeline(fs.createReadStream(from), zlib.createBrotliDecompress(), fs.createWriteStream(to));
"""
_START = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(each), fcntl.F_DUPFD, 20) for each in sys.argv[1:3]]
for end, place in zip(ends, (3, 4)):
    os.dup2(end, place)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Starts the browser with its ends of the pipes where it looks for them."""
_FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}/fonts</dir><cachedir>{folder}/fonts-cache</cachedir></fontconfig>
"""


def install_chromium() -> Path | None:
    """Return the folder of the browser, fetched if needed; None without Node or network."""
    folder = CACHE / f"chromium-{VERSION}"
    if not folder.exists() and shutil.which("npm") and shutil.which("node"):
        CACHE.mkdir(parents=True, exist_ok=True)
        with file_lock(CACHE / "chromium.lock"), suppress(OSError, subprocess.SubprocessError):
            if not folder.exists():
                _fetch(folder)
    return folder if folder.exists() else None


def _fetch(folder: Path) -> None:
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    made = partial / "browser"
    made.mkdir(parents=True)
    line = ["npm", "install", "--silent", "--no-fund", "--no-audit", "--ignore-scripts"]
    _run([*line, f"{PACKAGE}@{VERSION}"], partial)
    for packed in sorted((partial / "node_modules" / PACKAGE / "bin").glob("*.br")):
        unpacked = made / packed.stem
        _run(["node", "-e", _UNPACK, str(packed), str(unpacked)], partial)
        if unpacked.suffix == ".tar":
            with tarfile.open(unpacked) as archive:
                archive.extractall(made, filter="data")
            unpacked.unlink()
    (made / "chromium").chmod(0o755)
    made.rename(folder)
    shutil.rmtree(partial, ignore_errors=True)


def _run(line: list[str], folder: Path) -> None:
    subprocess.run(line, cwd=folder, check=True, capture_output=True, timeout=_INSTALL_S)


class Page:
    """A tab. What its console says, what it throws and what it asks the network for is kept."""

    def __init__(self, read_end: int, write_end: int) -> None:
        self._read_end, self._write_end = read_end, write_end
        self._buffer = b""
        self._number = 0
        self._session = ""
        self._loaded = 0
        self.complaints: list[str] = []
        self.requests: list[str] = []

    def attach(self) -> None:
        """Open the tab."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        found = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> Any:  # noqa: ANN401 - as the protocol has it
        """Send a command, and return what is answered."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write_end, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + _ANSWER_S
        while (answer := self._receive(until)).get("id") != self._number:
            self._note(answer)
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def _receive(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read_end], [], [], max(0, until - time.monotonic()))
            assert ready, "the browser does not answer"
            more = os.read(self._read_end, 1 << 20)
            assert more, "the browser ended"
            self._buffer += more
        message, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def _note(self, event: dict[str, Any]) -> None:
        told = event.get("params", {})
        match event.get("method"):
            case "Page.loadEventFired":
                self._loaded += 1
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(told["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if told["type"] in {"error", "warning"}:
                self.complaints.append(json.dumps(told["args"]))
            case "Log.entryAdded" if told["entry"]["level"] in {"error", "warning"}:
                self.complaints.append(told["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(told["request"]["url"])
            case _:
                pass

    def show(self, file: Path, width: int, height: int = 900, *, is_dark: bool = False) -> None:
        """Open a file in a window of this size, and wait until it is loaded."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 500,
        )  # fmt: skip
        before = self._loaded
        self.ask("Page.navigate", url=file.absolute().as_uri())
        until = time.monotonic() + _ANSWER_S
        while self._loaded == before:
            self._note(self._receive(until))

    def run(self, script: str) -> Any:  # noqa: ANN401 - any value of JavaScript
        """Return the value of an expression; a promise is awaited."""
        found = self.ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def save_picture(self, file: Path, *, is_whole: bool = False) -> None:
        """Write what is seen as PNG, or the page as a whole."""
        found = self.ask("Page.captureScreenshot", captureBeyondViewport=is_whole)
        file.write_bytes(base64.b64decode(found["data"]))


@contextmanager
def browser(folder: Path, profile: Path) -> Iterator[Page]:
    """Start the browser of `install_chromium`, and give a tab."""
    fonts = profile.with_name(f"{profile.name}.fonts.conf")
    fonts.write_text(_FONTS.format(folder=folder), encoding="utf-8")
    environ = {
        "HOME": str(profile),
        "LANG": "en_US.UTF-8",  # without, ICU names a locale that JavaScript does not take
        "PATH": os.environ["PATH"],
        "LD_LIBRARY_PATH": str(folder / "lib"),
        "FONTCONFIG_FILE": str(fonts),
    }
    options = (
        *("--headless=shell", "--no-sandbox", "--no-zygote", "--disable-gpu"),
        *("--remote-debugging-pipe", f"--user-data-dir={profile}", "--hide-scrollbars"),
    )
    commands, to_browser = os.pipe()
    from_browser, answers = os.pipe()
    line = [sys.executable, "-c", _START, str(commands), str(answers), str(folder / "chromium")]
    process = subprocess.Popen(
        [*line, *options],
        env=environ,
        pass_fds=(commands, answers),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(commands)
    os.close(answers)
    try:
        page = Page(from_browser, to_browser)
        page.attach()
        yield page
    finally:
        process.kill()
        process.wait(10)
        os.close(to_browser)
        os.close(from_browser)
