"""Where to connect: the addresses of brokers, or of controllers in their place (KIP-919)."""

import re
from collections.abc import Sequence

from kplan.kafka.given import Gathered, Given, Rank
from kplan.kafka.keys import Setting
from kplan.kafka.settings import Endpoint

OPTION = "-bootstrap-controller"

Addresses = tuple[Endpoint, ...]

_ADDRESS = re.compile(r"(?:\w+://)?(?:\[([0-9a-fA-F:.%]+)\]|([^\s:/\[\]]+)):(\d{1,5})")
_MAX_PORT = 65535


def addresses(found: Gathered, controllers: str = "") -> tuple[Addresses, Addresses]:
    """Give brokers and controllers, one of which there are; problems are noted.

    `controllers` are those of the command line: brokers that are given anywhere are then left out.
    """
    if controllers:
        option = Given(OPTION, controllers, Rank.OPTION)
        found.settings[Setting.CONTROLLERS] = [option]
        return (), _listed(found, option)
    brokers, direct = found.nearest(Setting.SERVERS), found.nearest(Setting.CONTROLLERS)
    if brokers and direct:
        found.report(
            "KP308",
            direct[1],
            f'"{brokers[1].name}" and "{direct[1].name}" are both given; a connection is made to '
            "one sort of node.",
            f"Take one of them out; {OPTION} leaves all brokers out for one run.",
        )
    if direct:
        return (), _listed(found, direct[1])
    if brokers:
        return _listed(found, brokers[1]), ()
    found.report(
        "KP303",
        None,
        "No bootstrap servers are given.",
        'Set bootstrap_servers in provider "kafka", or KPLAN_BOOTSTRAP_SERVERS.',
    )
    return (), ()


def _listed(found: Gathered, given: Given) -> Addresses:
    listed = given.value
    if isinstance(listed, str):
        listed = [each for each in re.split(r"[,\s]+", listed) if each]
    if not isinstance(listed, Sequence):
        found.report("KP302", given, f'"{given.name}" is a list of host:port.')
        return ()
    return tuple(dict.fromkeys(each for one in listed if (each := _address(found, given, one))))


def _address(found: Gathered, given: Given, written: object) -> Endpoint | None:
    match = _ADDRESS.fullmatch(str(written).strip())
    if match is None or not 0 < int(match[3]) <= _MAX_PORT:
        found.report("KP302", given, f'"{written}" is not host:port.', "As in kafka-1:9092.")
        return None
    return Endpoint(match[1] or match[2], int(match[3]))
