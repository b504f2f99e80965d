"""What a document for machines is made of."""

from collections.abc import Mapping, Sequence

Data = None | bool | int | float | str | Sequence["Data"] | Mapping[str, "Data"]
"""What JSON can say. Mappings are written in the order in which they stand."""


def as_data(value: object) -> Data:
    """Take a value as JSON says it: mappings sorted by key, what JSON lacks as its text."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(key): as_data(value[key]) for key in sorted(value)}
        case list() | tuple():
            return [as_data(each) for each in value]
        case _:
            return str(value)
