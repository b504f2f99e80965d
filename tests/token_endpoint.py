"""A token endpoint (RFC 6749, 4.4) of a few lines that signs JSON web tokens; its public key."""

import base64
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

ISSUER = "https://tokens.test"
AUDIENCE = "kafka"
KEY_ID = "key-1"


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@dataclass
class TokenEndpoint:
    """What it knows, and what it was asked: `asked` holds the forms that came."""

    clients: dict[str, str]
    lifetime_s: int = 300
    audience: str = AUDIENCE
    url: str = ""
    requests: list[dict[str, list[str]]] = field(default_factory=list)
    answers: list[tuple[int, bytes]] = field(default_factory=list)
    key: rsa.RSAPrivateKey = field(
        default_factory=lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048)
    )

    def token(self, subject: str) -> str:
        """Sign a token (RFC 7515, RS256)."""
        now = int(time.time())
        claims = {
            "sub": subject,
            "iss": ISSUER,
            "aud": self.audience,
            "iat": now,
            "exp": now + self.lifetime_s,
            "scope": "kafka",
        }
        header = {"alg": "RS256", "typ": "JWT", "kid": KEY_ID}
        signed = ".".join(base64url(json.dumps(each).encode()) for each in (header, claims))
        signature = self.key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{base64url(signature)}"

    def public_keys(self) -> str:
        """Give the public key as brokers read it (RFC 7517)."""
        numbers = self.key.public_key().public_numbers()
        size = (numbers.n.bit_length() + 7) // 8
        key = {
            "kty": "RSA",
            "kid": KEY_ID,
            "use": "sig",
            "alg": "RS256",
            "n": base64url(numbers.n.to_bytes(size, "big")),
            "e": base64url(numbers.e.to_bytes(3, "big")),
        }
        return json.dumps({"keys": [key]})

    def answer(self, authorization: str, form: dict[str, list[str]]) -> tuple[int, bytes]:
        """Answer as told, or give a token to a client that is known."""
        self.requests.append(form)
        if self.answers:
            return self.answers.pop(0)
        given = base64.b64decode(authorization.removeprefix("Basic ")).decode()
        client, _, secret = given.partition(":")
        if self.clients.get(client) != secret:
            refusal = {"error": "invalid_client", "error_description": "Unknown client."}
            return 401, json.dumps(refusal).encode()
        told = {"access_token": self.token(client), "expires_in": self.lifetime_s}
        return 200, json.dumps({**told, "token_type": "Bearer"}).encode()


@contextmanager
def token_endpoint(
    clients: dict[str, str], tls: ssl.SSLContext | None = None
) -> Iterator[TokenEndpoint]:
    """Serve on a free port until the block ends."""
    endpoint = TokenEndpoint(clients)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            status, told = endpoint.answer(self.headers["Authorization"], parse_qs(body))
            self.send_response(status)
            if status == 302:
                self.send_header("Location", endpoint.url + "/elsewhere")
            self.end_headers()
            self.wfile.write(told)

        def log_message(self, *_: object) -> None:
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    scheme = "https" if tls else "http"
    endpoint.url = f"{scheme}://127.0.0.1:{server.server_address[1]}/token"
    try:
        yield endpoint
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
