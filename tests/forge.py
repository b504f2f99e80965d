"""As much of GitHub's REST API as the action asks for, on this machine."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REPOSITORY = "shop/kafka"
TOKEN = "secret-token"


class Forge:
    """Comments of pull request 7, which commit abc merged, and issues."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.issues: list[dict[str, Any]] = []
        self.pulls = [{"number": 7}]
        self.is_forbidden = False
        self.requests: list[str] = []
        self.url = ""

    def answer(self, method: str, path: str, body: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
        """Give what GitHub would, and change what it would."""
        path, _, query = path.removeprefix(f"/repos/{REPOSITORY}").partition("?")
        self.requests.append(f"{method} {path}")
        mine = {"user": {"login": "github-actions[bot]"}}
        if method == "GET":
            whole = {
                "/issues/7/comments": self.comments,
                "/issues": [each for each in self.issues if each["state"] == "open"],
                "/commits/abc/pulls": self.pulls,
            }[path]
            return [] if "page=2" in query else whole
        if method == "PATCH":
            number = int(path.rpartition("/")[2])
            held = self.comments if "comments" in path else self.issues
            (found,) = [each for each in held if number in {each.get("id"), each.get("number")}]
            found.update(body)
        elif path == "/issues":
            number = 40 + len(self.issues)
            self.issues.append({**body, **mine, "number": number, "state": "open"})
        else:
            self.comments.append({**body, **mine, "id": len(self.comments) + 1})
        return {}


@contextmanager
def serving() -> Iterator[Forge]:
    """Serve a forge at its `url`; every request has to carry the token."""
    forge = Forge()

    class Answering(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or b"{}")
            assert self.headers["Authorization"] == f"Bearer {TOKEN}"
            is_refused = forge.is_forbidden and self.command != "GET"
            found = {} if is_refused else forge.answer(self.command, self.path, body)
            self.send_response(403 if is_refused else 200)
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        do_GET = do_POST = do_PATCH = _answer  # noqa: N815 - the names the server looks for

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its signature
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        forge.url = f"http://127.0.0.1:{server.server_port}"
        yield forge
        server.shutdown()
        thread.join()
