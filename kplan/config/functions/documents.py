"""JSON, CSV and YAML documents to values and back."""

from typing import Final

from kplan.config.functions import csvtext, yamlwrite
from kplan.config.functions.function import Function, Parameter, Refusal
from kplan.config.functions.jsontext import safe_json_text
from kplan.config.functions.limits import check_elements, check_text
from kplan.config.values.jsonvalue import json_loads
from kplan.config.values.text import clean_text
from kplan.config.values.value import STRING, ObjectType, TList, Value


def json_encode(value: Value) -> str:
    """Value as compact JSON."""
    text = safe_json_text(value)
    check_text(len(text))
    return text


def json_decode(text: str) -> Value:
    """Value that JSON text stands for: arrays are tuples, objects are objects."""
    try:
        return json_loads(text)
    except RecursionError:
        raise Refusal("the document is nested too deeply") from None
    except ValueError as error:
        raise Refusal("{}", str(error)) from None


def csv_decode(text: str) -> Value:
    """Rows of CSV text as a list of objects with the names of the header line."""
    try:
        names, rows = csvtext.read(clean_text(text))
    except csvtext.CsvError as error:
        raise Refusal("{}", str(error)) from None
    check_elements(len(rows) * len(names))
    order = sorted(range(len(names)), key=names.__getitem__)
    objects: list[Value] = [{names[at]: row[at] for at in order} for row in rows]
    return TList(objects, ObjectType({names[at]: STRING for at in order}))


def yaml_encode(value: Value) -> str:
    """Value as YAML."""
    text = yamlwrite.write(value)
    check_text(len(text))
    return text


def yaml_decode(text: str) -> Value:
    """Value that a YAML document stands for, with the scalars of YAML 1.1."""
    from kplan.config.functions import yamltext  # noqa: PLC0415 - brings PyYAML

    try:
        return yamltext.read(text)
    except yamltext.YamlError as error:
        raise Refusal("{}", str(error)) from None


DOCUMENTS: Final = (
    Function("csvdecode", (Parameter("str", STRING),), csv_decode),
    Function("jsondecode", (Parameter("str", STRING),), json_decode),
    Function("jsonencode", (Parameter("val", nullable=True),), json_encode),
    Function("yamldecode", (Parameter("src", STRING),), yaml_decode),
    Function("yamlencode", (Parameter("value", nullable=True),), yaml_encode),
)
