"""Attributes that are a map of config keys: what is compared, and what must be sent."""

from collections.abc import Collection, Mapping

from kplan.model.resource import Path

Config = Mapping[str, str]


def config_after(live: Config, declared: Config, ignored: Collection[Path]) -> Config:
    """Give the map to be reached: what is declared, but for keys that are ignored."""
    if () in ignored or ("config",) in ignored:
        return live
    kept = {path[1] for path in ignored if len(path) > 1 and path[0] == "config"}
    merged = {key: value for key, value in declared.items() if key not in kept}
    merged.update({key: live[key] for key in kept if key in live})
    return dict(sorted(merged.items()))


def alteration(before: Config, after: Config) -> tuple[dict[str, str], tuple[str, ...]]:
    """Give the keys to set and the keys to remove on the way from one map to the other."""
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    return changed, tuple(sorted(before.keys() - after.keys()))
