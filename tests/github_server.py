"""As much of GitHub's REST API as the action asks for, on this machine."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from tests.http_server import Request, serve_http

REPOSITORY = "shop/kafka"
TOKEN = "secret-token"


class GitHubServer:
    """Comments of pull request 7, which commit abc merged, and issues."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.issues: list[dict[str, Any]] = []
        self.labels: list[str] = []
        self.pull_requests: list[dict[str, Any]] = [
            {"number": 7, "merged_at": "2026-11-23T12:00:00Z", "merge_commit_sha": "abc"}
        ]
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
                "/issues/7/labels": [{"name": each} for each in self.labels],
                "/issues": [each for each in self.issues if each["state"] == "open"],
                "/commits/abc/pulls": self.pull_requests,
            }[path]
            return [] if "page=2" in query else whole
        if path.startswith("/issues/7/labels"):
            if method == "DELETE":
                self.labels.remove(unquote(path.rpartition("/")[2]))
            else:
                self.labels += body["labels"]
        elif method == "PATCH":
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
def serve_github() -> Iterator[GitHubServer]:
    """Serve a forge at its `url`; every request has to carry the token."""
    forge = GitHubServer()

    def answered(asked: Request) -> tuple[int, str]:
        assert asked.authorization == f"Bearer {TOKEN}"
        if forge.is_forbidden and asked.method != "GET":
            return 403, "{}"
        found = forge.answer(asked.method, asked.path, json.loads(asked.body or "{}"))
        return 200, json.dumps(found)

    with serve_http(answered) as forge.url:
        yield forge
