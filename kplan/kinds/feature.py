"""`kafka_feature`: the level that a feature of the cluster runs at."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from kplan.cluster.port import Cluster
from kplan.cluster.request import ItemResult
from kplan.cluster.settings import Downgrade, FeatureUpdate, NodeVersions
from kplan.kinds.base import Problem, ResolvedAttributes
from kplan.kinds.schema import Attribute
from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal
from kplan.model.plan import Action, Change, Step
from kplan.model.resource import Identity, Path
from kplan.model.state import KindSnapshot, LiveObject

BASE_FEATURE = "metadata.version"
"""The feature that others depend on: it goes up before them and down after them."""

UPGRADE_BASE = Step(3, "update_features")
UPGRADE = Step(4, "update_features")
DOWNGRADE = Step(5, "update_features")
DOWNGRADE_BASE = Step(6, "update_features")


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of the cluster (KIP-584), `metadata.version` or `group.version`."""

    name: Annotated[str, Attribute("Name of the feature.", forces_replacement=True)]
    level: Annotated[int, Attribute("The level it is to run at; 0 is off.", "number")]
    downgrade: Annotated[
        str,
        Attribute(
            "Whether it may go to a lower level: never, only where nothing is lost, or at any "
            "price.",
            choices=tuple(Downgrade),
        ),
    ] = Downgrade.NONE.value


class FeatureKind:
    """Features: raised, lowered only on request, never deleted."""

    name = "kafka_feature"
    noun = "feature"
    schema = Feature
    is_replaceable = False
    is_deletable = False
    is_always_read = False
    is_shareable = False

    def identify(self, value: Feature) -> Identity:
        """Name it by its name."""
        return Identity(value.name)

    def normalize(self, value: Feature) -> Feature:
        """Spell the downgrade in one way."""
        return replace(value, downgrade=value.downgrade.casefold())

    def check(self, value: Feature) -> Iterator[Problem]:
        """Check the words against the known ones."""
        if value.downgrade not in tuple(Downgrade):
            detail = f'downgrade is "{value.downgrade}".'
            hint = f"It is {', '.join(Downgrade)}."
            yield Problem("KP227", detail, hint, ("downgrade",), is_independent=True)
        if value.level < 0:
            detail = f"level is {value.level}; the lowest is 0."
            yield Problem("KP227", detail, path=("level",), is_independent=True)

    def check_all(
        self,
        declared: Collection[Identity],  # noqa: ARG002 - the broker knows what depends on what
        live: Collection[Identity] = (),  # noqa: ARG002
    ) -> Iterator[tuple[Identity, Problem]]:
        """Find nothing: the broker checks the rest."""
        return iter(())

    def read(self, cluster: Cluster, wanted: Collection[Identity]) -> KindSnapshot:
        """Read the finalized features, and of the others the requested ones."""
        return _kind_snapshot(cluster.versions(), wanted)

    def fill_from_state(self, live: Feature, applied: Feature) -> Feature:  # noqa: ARG002 - see docstring
        """Keep the live value: Kafka returns all of it."""
        return live

    def align(
        self, live: Feature, desired: Feature, ignored: Collection[Path] = ()
    ) -> tuple[Feature, Feature]:
        """Compare levels; how a feature may be lowered is nothing of the cluster's."""
        before = replace(live, downgrade=desired.downgrade)
        is_kept = () in ignored or ("level",) in ignored
        return before, before if is_kept else desired

    def check_change(self, live: LiveObject, desired: Feature) -> Iterator[Problem]:
        """Refuse an unrequested downgrade (K919-20)."""
        held: Feature = live.value  # type: ignore[assignment] # a Reading of this kind holds features
        if desired.level < held.level and desired.downgrade == Downgrade.NONE:
            yield Problem(
                "KP228",
                f"{desired.name} runs at level {held.level}, and {desired.level} is declared; "
                "a lower level can lose what was written at the higher one.",
                'Declare downgrade = "safe" to go down where nothing is lost.',
                ("level",),
            )

    def steps(self, change: Change) -> tuple[Step, ...]:
        """Up with the base first, down with the base last."""
        if change.action not in {Action.CREATE, Action.UPDATE}:
            return ()
        is_base = change.identity == BASE_FEATURE
        if _is_downgrade(change):
            return (DOWNGRADE_BASE,) if is_base else (DOWNGRADE,)
        return (UPGRADE_BASE,) if is_base else (UPGRADE,)

    def record_count(self, step: Step, change: Change) -> int:  # noqa: ARG002 - the same for all
        """One record each."""
        return 1

    def apply(
        self,
        cluster: Cluster,
        step: Step,  # noqa: ARG002 - the level says all
        changes: Sequence[Change],
    ) -> Mapping[Identity, ItemResult]:
        """Update one after the other."""
        answers = cluster.update_features([_feature_update(each) for each in changes])
        return {Identity(name): answer for name, answer in answers.items()}

    def validate(
        self,
        cluster: Cluster,
        step: Step,  # noqa: ARG002 - the level says all
        changes: Sequence[Change],
    ) -> Mapping[Identity, Refusal | ResolvedAttributes]:
        """Ask the controller (UpdateFeatures, validate only)."""
        updates = [_feature_update(each) for each in changes]
        answers = cluster.update_features(updates, validate_only=True)
        return {Identity(name): answer or {} for name, answer in answers.items()}

    def is_done(self, step: Step, change: Change, reading: KindSnapshot) -> bool:  # noqa: ARG002 - the level says all
        """Look for the level."""
        after: Feature = change.after  # type: ignore[assignment] # features are not deleted
        live = reading.objects.get(change.identity)
        return (live.value.level if live else 0) == after.level  # type: ignore[attr-defined]

    def find_visible(
        self, cluster: Cluster, broker: int, changes: Sequence[Change]
    ) -> Mapping[Identity, str]:
        """Look for the level that this broker runs."""
        reading = _kind_snapshot(
            cluster.versions(broker=broker), [each.identity for each in changes]
        )
        return {each.identity: "" for each in changes if self.is_done(UPGRADE, each, reading)}


def _kind_snapshot(node_versions: NodeVersions, wanted: Collection[Identity]) -> KindSnapshot:
    names = {
        *node_versions.finalized,
        *(each for each in wanted if each in node_versions.supported),
    }
    return KindSnapshot(
        {
            Identity(name): LiveObject(Feature(name, node_versions.finalized.get(name, 0)))
            for name in sorted(names)
        }
    )


def _is_downgrade(change: Change) -> bool:
    before: Feature | None = change.before  # type: ignore[assignment] # a change of this kind
    after: Feature = change.after  # type: ignore[assignment]
    return before is not None and after.level < before.level


def _feature_update(change: Change) -> FeatureUpdate:
    after: Feature = change.after  # type: ignore[assignment] # features are not deleted
    downgrade = Downgrade(after.downgrade) if _is_downgrade(change) else Downgrade.NONE
    return FeatureUpdate(after.name, after.level, downgrade)
