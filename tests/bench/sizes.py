"""The estates that are measured, and their configuration."""

import json
from dataclasses import dataclass
from pathlib import Path

from kplan.sandbox.layout import SandboxSpec


@dataclass(frozen=True, slots=True)
class Size:
    """So many topics of so many partitions and 3 configs, and so many ACLs."""

    topics: int
    acls: int
    partitions: int = 3

    def __str__(self) -> str:
        """Name the size."""
        return f"{self.topics:,} topics + {self.acls:,} ACLs"


PARTITIONS_A_BROKER = 10_000
"""A partition keeps a file open and maps two; processes may often open no more than 20,000 files,
and Linux lets one map 65,530 (vm.max_map_count)."""


def cluster_for(size: Size) -> SandboxSpec:
    """Shape a cluster that can lead them all: one node, or brokers and a controller."""
    brokers = -(-size.topics * size.partitions // PARTITIONS_A_BROKER)
    return SandboxSpec(brokers=brokers, controllers=int(brokers > 1))


SMALL = Size(1_000, 2_000)
LARGE = Size(5_000, 10_000)

CONFIG = {"retention.ms": "86400000", "segment.ms": "3600000", "cleanup.policy": "delete"}


CHANGED = "retention.ms"
CHANGES = 5
"""A small apply alters the config of so many topics, and adds as many ACLs."""


def topic_names(size: Size) -> list[str]:
    """Name the topics."""
    return [f"bench-{number:05}" for number in range(size.topics)]


def principals(size: Size) -> list[str]:
    """Name the principals, each with one ACL on one topic."""
    return [f"User:bench-{number:05}" for number in range(size.acls)]


def readers(size: Size) -> dict[str, str]:
    """Give the topic of each principal."""
    return {
        principal: f"bench-{number % size.topics:05}"
        for number, principal in enumerate(principals(size))
    }


def write_estate(size: Size, folder: Path, number: int = 0) -> None:
    """Name the objects; each `number` from 1 on changes `CHANGES` of them."""
    late = topic_names(size)[:CHANGES]
    estate = {
        "topics": topic_names(size),
        "readers": {**readers(size), **dict.fromkeys(more_principals(number), late[0])},
        "other_configs": {each: {CHANGED: changed_value(number)} for each in late if number},
    }
    (folder / "estate.json").write_text(json.dumps(estate))


def more_principals(number: int) -> list[str]:
    """Name the principals that the changes up to `number` bring, a few with each."""
    return [f"User:late-{each:02}" for each in range(number * CHANGES)]


def changed_value(number: int) -> str:
    """Give the value that a change sets."""
    return str(86_400_000 + number)


def write_blocks(size: Size, folder: Path) -> None:
    """Declare the estate with one block for each object, as generated files do."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = "\n".join(f'    "{key}" = "{value}"' for key, value in CONFIG.items())
    topics = [
        f"""resource "kafka_topic" "{name}" {{
  name               = "{name}"
  partitions         = {size.partitions}
  replication_factor = 1
  config = {{
{settings}
  }}
}}
"""
        for name in topic_names(size)
    ]
    acls = [
        f"""resource "kafka_acl" "{principal.removeprefix("User:")}-reads" {{
  resource_name       = kafka_topic.{topic}.name
  resource_type       = "Topic"
  acl_principal       = "{principal}"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}}
"""
        for principal, topic in readers(size).items()
    ]
    (folder / "main.tf").write_text("\n".join(['provider "kafka" {}\n', *topics, *acls]))


def write_configuration(size: Size, folder: Path) -> None:
    """Declare the estate with two blocks and for_each, as a platform team would."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = "\n".join(f'    "{key}" = "{value}"' for key, value in CONFIG.items())
    write_estate(size, folder)
    (folder / "main.tf").write_text(
        f"""
locals {{
  estate = jsondecode(file("${{path.module}}/estate.json"))
}}

provider "kafka" {{}}

resource "kafka_topic" "t" {{
  for_each           = toset(local.estate.topics)
  name               = each.key
  partitions         = {size.partitions}
  replication_factor = 1
  config = merge({{
{settings}
  }}, lookup(local.estate.other_configs, each.key, {{}}))
}}

resource "kafka_acl" "a" {{
  for_each            = local.estate.readers
  resource_name       = each.value
  resource_type       = "Topic"
  acl_principal       = each.key
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}}
"""
    )
