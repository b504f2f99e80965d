"""One connection to a node: one request in flight, versions agreed, logged in."""

import struct
import time
from collections.abc import Mapping

from kplan.kafka.settings import Endpoint
from kplan.kafka.wire import messages
from kplan.kafka.wire.api import Api, Message
from kplan.kafka.wire.link import Deadline, Link, NotKafka
from kplan.model.errors import Unsupported

_HEADER_BYTES = 4


class Connection:
    """A connection on which one thread at a time asks. Made by `wire/login.py`."""

    def __init__(self, link: Link, endpoint: Endpoint, client_id: str) -> None:
        self.endpoint = endpoint
        self.versions: Mapping[int, tuple[int, int]] = {
            messages.API_VERSIONS.key: (0, messages.API_VERSIONS.newest)
        }
        self.features: Mapping[str, int] = {}
        self.expires_at_s = float("inf")
        self.idles_until_s = float("inf")
        self._link = link
        self._client_id = client_id
        self._correlation_id = 0

    def version(self, api: Api) -> int:
        """Give the newest version of the API that both sides speak.

        Raises:
            Unsupported: there is none.

        """
        oldest, newest = self.versions.get(api.key, (0, -1))
        agreed = min(newest, api.newest)
        if agreed < max(oldest, api.oldest):
            offered = f"offers versions {oldest} to {newest}" if newest >= 0 else "lacks it"
            raise Unsupported(
                f"kplan needs {api.name} in a version of {api.oldest} to {api.newest}; "
                f"{self.endpoint} {offered}.",
                hint="kplan works with Kafka 2.4 and later; see: kplan cluster versions",
            )
        return agreed

    def ask(self, api: Api, request: Message, deadline: Deadline) -> Message:
        """Ask and read the answer.

        Raises:
            Broken: no answer came, and the request may have been carried out.
            Unsupported: the node does not speak the API.

        """
        version = self.version(api)
        return self.decoded(api, version, self.ask_raw(api, version, request, deadline))

    def decoded(self, api: Api, version: int, body: memoryview) -> Message:
        """Read the body of an answer."""
        try:
            return messages.decode(api, version, body)
        except messages.Garbled as failure:
            raise NotKafka(bytes(body[:16])) from failure

    def ask_raw(self, api: Api, version: int, request: Message, deadline: Deadline) -> memoryview:
        """Ask and give the body of the answer as it came; raises as `ask`."""
        self._correlation_id += 1
        frame = messages.encode(request, version, self._correlation_id, self._client_id)
        return self._body(api, version, self._link.exchange(frame, deadline))

    def _body(self, api: Api, version: int, answer: memoryview) -> memoryview:
        if len(answer) < _HEADER_BYTES:
            raise NotKafka(bytes(answer))
        (correlation_id,) = struct.unpack_from(">i", answer)
        if correlation_id != self._correlation_id:
            raise NotKafka(bytes(answer[:16]))
        if not messages.has_tagged_header(api, version):
            return answer[_HEADER_BYTES:]
        if answer[_HEADER_BYTES] != 0:  # no tagged header fields are defined
            raise NotKafka(bytes(answer[:16]))
        return answer[_HEADER_BYTES + 1 :]

    @property
    def is_usable(self) -> bool:
        """Whether another request may be sent."""
        until_s = min(self.expires_at_s, self.idles_until_s)
        return time.monotonic() < until_s and self._link.is_silent()

    def sized(self, send_bytes: int, receive_bytes: int) -> None:
        """Ask the system for buffers of these sizes; 0 leaves one as it is."""
        self._link.sized(send_bytes, receive_bytes)

    def cut(self) -> None:
        """Wake whoever waits for an answer, from another thread."""
        self._link.cut()

    def close(self) -> None:
        """Close the connection."""
        self._link.close()
