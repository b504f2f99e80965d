"""The quorum of a cluster in memory, and the registration of its brokers."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from kplan.cluster.contents import Answer, Contents
from kplan.cluster.errors import refusal
from kplan.cluster.faults import Call
from kplan.cluster.memory_serving import CLUSTER_NAME, Serving
from kplan.cluster.quorum import Follower, Quorum, Voter
from kplan.cluster.specs import Verdict
from kplan.model.errors import Unread

_DUPLICATE, _NOT_FOUND = 126, 127


class QuorumRequests(Serving):
    """Serves the quorum, whose voters may change, and takes brokers out."""

    def run_controllers(
        self, voters: Collection[int], observers: Collection[int] = (), down: Collection[int] = ()
    ) -> None:
        """Run these controllers; those that are `down` have been silent for a minute."""
        with self._store.lock:
            self._store.voters = tuple(voters)
            self._store.waiting = tuple(observers)
            self._store.silent = frozenset(down)

    def quorum(self) -> Quorum:
        """Tell that the first voter leads and every live broker follows; raises Unread."""
        call = Call("quorum")
        contents, struck = self._read(call)
        if refused := struck.refused.get("") or self._barred(call, CLUSTER_NAME):
            raise Unread(f"The quorum cannot be read: {refused}")
        store, end = self._store, contents.made
        brokers = [each.id for each in store.site.brokers if each.id not in store.site.fenced]
        addresses = {each: f"127.0.0.1:{8992 + each}" for each in store.voters}
        return Quorum(
            store.voters[0],
            1,
            end,
            tuple(self._follower(each, end) for each in store.voters),
            tuple(self._follower(each, end) for each in (*brokers, *store.waiting)),
            addresses,
            "CONTROLLER",
        )

    def _follower(self, node: int, end: int) -> Follower:
        ago = 60_000 if node in self._store.silent else 0
        return Follower(node, end, 0, ago, ago, f"directory-{node}")

    def unregister_broker(self, broker: int) -> Verdict:
        """Forget a broker, whether it is up or not; its replicas stay assigned to it."""
        site = self._store.site
        known = None if broker in {each.id for each in site.brokers} else refusal(102)
        verdict = self._one("unregister_broker", broker, known)
        if verdict is None:
            left = tuple(each for each in site.brokers if each.id != broker)
            self._store.site = replace(site, brokers=left, fenced=site.fenced - {broker})
        return verdict

    def add_voter(self, voter: Voter) -> Verdict:
        """Let an observer vote."""
        store = self._store
        votes = refusal(_DUPLICATE, name="DUPLICATE_VOTER") if voter.id in store.voters else None
        verdict = self._one("add_voter", voter.id, votes)
        if verdict is None:
            store.waiting = tuple(each for each in store.waiting if each != voter.id)
            store.voters = (*store.voters, voter.id)
        return verdict

    def remove_voter(self, voter: int, directory: str) -> Verdict:
        """Let a voter observe."""
        store = self._store
        votes = voter in store.voters and directory == f"directory-{voter}"
        missing = None if votes else refusal(_NOT_FOUND, name="VOTER_NOT_FOUND")
        verdict = self._one("remove_voter", voter, missing)
        if verdict is None:
            store.voters = tuple(each for each in store.voters if each != voter)
            store.waiting = (*store.waiting, voter)
        return verdict

    def _one(self, method: str, node: int, known: Verdict) -> Verdict:
        """Serve a request about one node."""
        name = str(node)

        def request(found: Contents, fine: Sequence[str]) -> Answer[str]:
            return Answer(found, dict.fromkeys(fine, known))

        return self._write(Call(method, (name,)), [(name, name)], request).verdicts[name]
