"""The quorum of a cluster in memory, and the registration of its brokers."""

from collections.abc import Sequence
from dataclasses import replace

from kplan.cluster.contents import Answer, Contents
from kplan.cluster.errors import refusal
from kplan.cluster.faults import Call
from kplan.cluster.memory_serving import CLUSTER_NAME, Serving
from kplan.cluster.quorum import Follower, Quorum
from kplan.cluster.specs import Verdict
from kplan.model.errors import Unread

CONTROLLER = 101
"""Its only controller."""


class QuorumRequests(Serving):
    """Serves the quorum, of one controller, and takes brokers out."""

    def quorum(self) -> Quorum:
        """Tell that the controller leads and every live broker follows; raises Unread."""
        call = Call("quorum")
        contents, struck = self._read(call)
        if refused := struck.refused.get("") or self._barred(call, CLUSTER_NAME):
            raise Unread(f"The quorum cannot be read: {refused}")
        site, end = self._store.site, contents.made
        followers = (
            Follower(each.id, end, 0, 0, 0) for each in site.brokers if each.id not in site.fenced
        )
        leader = Follower(CONTROLLER, end, 0, 0, 0)
        addresses = {CONTROLLER: "127.0.0.1:9093"}
        return Quorum(CONTROLLER, 1, end, (leader,), tuple(followers), addresses)

    def unregister_broker(self, broker: int) -> Verdict:
        """Forget a broker, whether it is up or not; its replicas stay assigned to it."""
        name, site = str(broker), self._store.site
        known = None if broker in {each.id for each in site.brokers} else refusal(102)

        def request(found: Contents, fine: Sequence[str]) -> Answer[str]:
            return Answer(found, dict.fromkeys(fine, known))

        call = Call("unregister_broker", (name,))
        verdict = self._write(call, [(name, name)], request).verdicts[name]
        if verdict is None:
            left = tuple(each for each in site.brokers if each.id != broker)
            self._store.site = replace(site, brokers=left, fenced=site.fenced - {broker})
        return verdict
