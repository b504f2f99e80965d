"""IP network functions."""

import ipaddress
import re
from typing import Final

from kplan.config.functions.function import Function, Parameter, Refusal
from kplan.config.functions.numeric import whole_number
from kplan.config.values.value import NUMBER, STRING, Number, TList, Value
from kplan.model.dataclass import dataclass

_LEADING_ZEROS: Final = re.compile(r"(?<![0-9a-fA-F:])0+(?=[0-9])")
_CIDR: Final = re.compile(r"[0-9a-fA-F.:]+/[0-9]+")
_LONGEST_EXTENSION: Final = 32


@dataclass(frozen=True, slots=True)
class _Network:
    """A network by its first address, the bits of its prefix and of an address."""

    first: int
    prefix: int
    bits: int

    @property
    def free_bits(self) -> int:
        return self.bits - self.prefix

    def address(self, number: int) -> str:
        make = ipaddress.IPv4Address if self.bits == ipaddress.IPV4LENGTH else ipaddress.IPv6Address
        return str(make(number))

    def __str__(self) -> str:
        return f"{self.address(self.first)}/{self.prefix}"


def _network(text: str, argument: int | None = None) -> _Network:
    plain = _LEADING_ZEROS.sub("", text) if _CIDR.fullmatch(text) else ""
    try:
        found = ipaddress.ip_network(plain, strict=False)
    except ValueError:
        reason = "invalid CIDR expression: invalid CIDR address: {}"
        raise Refusal(reason, text, argument=argument) from None
    return _Network(int(found.network_address), found.prefixlen, found.max_prefixlen)


def cidrhost(prefix: str, number: Number) -> str:
    """Address of a host in a network; negative numbers count from the end."""
    if not isinstance(number, int):
        raise Refusal("value must be a whole number")
    network = _network(prefix)
    size = 1 << network.free_bits
    host = number + size if number < 0 else number
    if not 0 <= host < size:
        reason = "prefix of {} does not accommodate a host numbered {}"
        raise Refusal(reason, network.prefix, host)
    return network.address(network.first + host)


def cidrnetmask(prefix: str) -> str:
    """Mask of an IPv4 network, written as an address."""
    network = _network(prefix)
    if network.bits != ipaddress.IPV4LENGTH:
        raise Refusal("IPv6 addresses cannot have a netmask: {}", prefix)
    mask = ((1 << network.prefix) - 1) << network.free_bits
    return network.address(mask)


def cidrsubnet(prefix: str, newbits: Number, netnum: Number) -> str:
    """Network within a network: `newbits` more bits of prefix, which hold `netnum`."""
    extension = whole_number(newbits)
    if not isinstance(netnum, int):
        raise Refusal("value must be a whole number")
    network = _network(prefix)
    if extension < 0 or netnum < 0:
        raise Refusal("the extension of the prefix and the number must not be negative")
    longer = network.prefix + extension
    if longer > network.bits:
        reason = "insufficient address space to extend prefix of {} by {}"
        raise Refusal(reason, network.prefix, extension)
    if netnum >= 1 << extension:
        reason = "prefix extension of {} does not accommodate a subnet numbered {}"
        raise Refusal(reason, extension, netnum)
    first = network.first + (netnum << (network.bits - longer))
    return str(_Network(first, longer, network.bits))


def cidrsubnets(prefix: str, *newbits: Number) -> Value:
    """Networks within a network, one after the other, each with its own extension of the prefix."""
    network = _network(prefix, argument=0)
    end = network.first + (1 << network.free_bits)
    following, previous = network.first, network
    found: list[Value] = []
    for place, each in enumerate(newbits, 1):
        longer = network.prefix + _extension(each, network, place)
        size = 1 << (network.bits - longer)
        first = -(-following // size) * size
        if first + size > end:
            reason = (
                f"not enough remaining address space for a subnet with a prefix of {longer} bits "
                f"after {previous}"
            )
            raise Refusal("{}", reason, argument=place)
        previous = _Network(first, longer, network.bits)
        following = first + size
        found.append(str(previous))
    return TList(found, STRING)


def _extension(value: Number, network: _Network, place: int) -> int:
    bits = whole_number(value, argument=place)
    if bits < 1:
        raise Refusal("must extend prefix by at least one bit", argument=place)
    if bits > _LONGEST_EXTENSION:
        reason = f"may not extend prefix by more than {_LONGEST_EXTENSION} bits"
        raise Refusal(reason, argument=place)
    if network.prefix + bits > network.bits:
        version = "IPv4" if network.bits == ipaddress.IPV4LENGTH else "IPv6"
        total = network.prefix + bits
        reason = f"would extend prefix to {total} bits, which is too long for an {version} address"
        raise Refusal(reason, argument=place)
    return bits


_PREFIX: Final = Parameter("prefix", STRING)
_NEWBITS: Final = Parameter("newbits", NUMBER)

NETWORKS: Final = (
    Function("cidrhost", (_PREFIX, Parameter("hostnum", NUMBER)), cidrhost),
    Function("cidrnetmask", (_PREFIX,), cidrnetmask),
    Function("cidrsubnet", (_PREFIX, _NEWBITS, Parameter("netnum", NUMBER)), cidrsubnet),
    Function("cidrsubnets", (_PREFIX,), cidrsubnets, _NEWBITS),
)
