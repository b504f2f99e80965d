"""What schemas say, however they are written."""

import json

import pytest

from kplan.kinds.schema_outline import schema_outline

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
        {"name": "was", "type": ["null", "State"], "default": None},
        {"name": "lines", "type": {"type": "array", "items": "string"}},
    ],
}


def avro(schema: object) -> dict[str, str]:
    return dict(schema_outline(json.dumps(schema), "AVRO"))


def test_an_avro_record_is_told_field_by_field() -> None:
    assert avro(ORDER) == {
        "shop.Order": "record of id, state, was, lines",
        "shop.Order.id": "string",
        "shop.State": "enum of NEW, PAID",
        "shop.Order.state": "shop.State",
        "shop.Order.was": "union of null | shop.State, default null",
        "shop.Order.lines": "array of (string)",
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("string", {"type": "string"}),
        ({"type": "record", "name": "a.B", "fields": []},
         {"type": "record", "name": "B", "namespace": "a", "fields": []}),
        ({"type": "record", "name": "B", "fields": [{"name": "x", "type": "int"}]},
         {"fields": [{"type": {"type": "int"}, "name": "x", "order": "ascending"}],
          "name": "B", "type": "record"}),
    ],
)  # fmt: skip
def test_avro_schemas_that_mean_the_same_have_one_outline(one: object, other: object) -> None:
    assert avro(one) == avro(other)


def field(**given: object) -> dict[str, object]:
    return {"type": "record", "name": "B", "fields": [{"name": "x", "type": "int", **given}]}


@pytest.mark.parametrize(
    "other",
    [
        field(type="long"), field(default=0), field(doc="d"), field(aliases=["y"]),
        field(type={"type": "int", "logicalType": "date"}), field(order="ignore"),
        {**field(), "doc": "d"}, {**field(), "aliases": ["C"]}, {**field(), "namespace": "n"},
        {"type": "record", "name": "B", "fields": []},
    ],
)  # fmt: skip
def test_every_difference_of_avro_schemas_shows(other: object) -> None:
    assert avro(field()) != avro(other)


def test_the_order_of_fields_and_symbols_counts() -> None:
    x, y = ({"name": name, "type": "int"} for name in "xy")
    one, other = ({"type": "record", "name": "B", "fields": each} for each in ([x, y], [y, x]))
    assert avro(one) != avro(other)
    symbols = ({"type": "enum", "name": "E", "symbols": each} for each in (["A", "B"], ["B", "A"]))
    assert len({str(avro(each)) for each in symbols}) == 2


def test_a_json_schema_is_told_leaf_by_leaf() -> None:
    text = '{"type": "object", "required": ["a"], "properties": {"a.b": {"type": "string"}}}'
    assert schema_outline(text) == {
        "type": '"object"',
        "required": '["a"]',
        "properties.a\\.b.type": '"string"',
    }
    assert schema_outline('{"a":{"b":1}}') != schema_outline('{"a.b":1}')


PROTO = """
syntax = "proto3"; // by hand
package shop;
import "google/protobuf/timestamp.proto";
option (file_note) = { text: "a; b" };
message Order {
  /* the key */
  string id = 1 [deprecated = true];
  option (note) = { a: 1; b: 2 };
  oneof how { int32 card = 2; string iban = 3; }
  message Line { map<string, int32> counts = 1; }
  repeated Line lines = 4;
  reserved 5, 6;
}
service Shop { rpc Get(Order) returns (stream Order) { option deprecated = true; } }
"""


def test_a_protobuf_schema_is_told_statement_by_statement() -> None:
    found = schema_outline(PROTO)
    assert found["shop" if "shop" in found else "package shop"] == "declared"
    assert found["Order.id"] == "string = 1 [ deprecated = true ]"
    assert found["Order.how.iban"] == "string = 3"
    assert found["Order.Line.counts"] == "map < string , int32 > = 1"
    assert found["Order.lines"] == "repeated Line = 4"
    assert found["Order.reserved 5 , 6"] == "declared"
    assert found["Shop.Get"] == "rpc ( Order ) returns ( stream Order )"
    assert found["Order.option ( note )"] == "{ a : 1 ; b : 2 }"


def test_protobuf_is_the_same_in_another_order_and_without_comments() -> None:
    one = 'syntax = "proto3"; message A { int32 x = 1; int32 y = 2; } message B {}'
    other = 'syntax="proto3";\n\nmessage B { }\nmessage A { int32 y=2; // why\n int32 x=1; }'
    assert schema_outline(one) == schema_outline(other)
    assert schema_outline(one) != schema_outline(one.replace("x = 1", "x = 3"))


@pytest.mark.parametrize("text", ["", "no schema", '{"type": "record"}', "[1", "{", "}", "a = ;"])
def test_what_is_no_schema_has_an_outline_all_the_same(text: str) -> None:
    for kind in ("", "AVRO", "JSON", "PROTOBUF"):
        assert schema_outline(text, kind)
