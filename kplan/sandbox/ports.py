"""Free ports on the loopback address."""

import random
import socket
from contextlib import ExitStack

from kplan.model.errors import SandboxError

# Below the ports that systems give to outgoing connections: from there, a client that connects
# again and again to a broker that is down can get the broker's own port and hold it.
FIRST, LAST = 15_000, 32_000


def free_ports(count: int) -> tuple[int, ...]:
    """Return `count` ports that were all free at the same moment. Raises SandboxError."""
    candidates = random.sample(range(FIRST, LAST), k=count * 50)  # no secret depends on it
    found: list[int] = []
    with ExitStack() as held:
        for port in candidates:
            listener = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            if _bind(listener, port):
                found.append(port)
            if len(found) == count:
                return tuple(found)
    raise SandboxError(f"No {count} free ports were found between {FIRST} and {LAST}.")


def _bind(listener: socket.socket, port: int) -> bool:
    try:
        listener.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True
