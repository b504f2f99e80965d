"""What a document for machines is made of."""

from collections.abc import Mapping, Sequence

Data = None | bool | int | float | str | Sequence["Data"] | Mapping[str, "Data"]
"""What JSON can say. Mappings are written in the order in which they stand."""
