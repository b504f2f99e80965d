"""The blocks of `fleet.hcl`: which there are, and what each may have."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kplan.config.declarations.body_schema import BodySchema, body_problems, label_problems
from kplan.config.declarations.collect import collect_declarations
from kplan.config.declarations.declaration import Declaration, KnownKinds, ModuleDeclarations
from kplan.config.declarations.file import FLEET_FILE, ModuleFolders, read_text
from kplan.config.diagnostic import error, suggestion
from kplan.config.fleet_rules import RULE_SCHEMAS
from kplan.config.syntax import tree as ast
from kplan.config.syntax.parse import parse_file
from kplan.config.syntax.source import Origin, Source
from kplan.model.diagnostic import Diagnostic

_SCHEMAS: Mapping[str, BodySchema] = {
    "cluster": BodySchema(
        (
            *("labels", "configuration", "state", "snapshot", "audit", "audit_time_zone"),
            *("deadline_s", "super_users", "allow_everyone"),
        ),
        blocks=("provider", "audit"),
        label_count=1,
    ),
    "store": BodySchema(("path", "format", "catalog")),
    "spark": BodySchema(("master", "remote", "conf")),
    **RULE_SCHEMAS,
}


class FleetFolder(ModuleFolders):
    """The one file of a fleet, its own blocks set apart."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, KnownKinds(()))
        self.blocks: list[Declaration] = []
        self._read: ModuleDeclarations | None = None

    def declarations(self, path: str) -> ModuleDeclarations:
        """Read the file, once."""
        del path  # it has modules no more than resources
        if self._read is None:
            self._read = self._read_file()
        return self._read

    def blocks_of(self, kind: str) -> list[Declaration]:
        """List the sound blocks of a type."""
        return [each for each in self.blocks if each.block.type == kind and not each.is_broken]

    def single_block(self, kind: str) -> Declaration | None:
        """Return the block of a type that is once."""
        return next(iter(self.blocks_of(kind)), None)

    def _read_file(self) -> ModuleDeclarations:
        text = read_text(self.root / FLEET_FILE, FLEET_FILE)
        if isinstance(text, Diagnostic):
            result = replace(text, hint="It names the clusters of the fleet: kplan help fleets.")
            return ModuleDeclarations(diagnostics=[result], is_incomplete=True)
        self.sources[FLEET_FILE] = text
        parsed = parse_file(Source(FLEET_FILE, text))
        own: list[ast.Item] = []
        others: list[ast.Item] = []
        for item in parsed.items:
            is_own = isinstance(item.content, ast.Block) and item.content.type in _SCHEMAS
            (own if is_own else others).append(item)
        found = collect_declarations(others, KnownKinds(()), has_lost=parsed.has_lost)
        found.diagnostics = [_with_suggestion(each, others) for each in found.diagnostics]
        found.diagnostics.extend(parsed.diagnostics)
        for item in own:
            self._add_block(item, found)
        return found

    def _add_block(self, item: ast.Item, module_declarations: ModuleDeclarations) -> None:
        block = item.content
        if not isinstance(block, ast.Block):
            return
        problems = []
        if not item.is_broken:
            shape = _SCHEMAS[block.type]
            problems = [
                *label_problems(block, item.origin, shape),
                *_name_problems(block, item.origin),
                *body_problems(block, item.origin, shape),
            ]
        module_declarations.diagnostics.extend(problems)
        name = block.labels[0].text if block.labels else ""
        arguments = {each.name: each for each in block.attributes}
        is_broken = item.is_broken or len(block.labels) != _SCHEMAS[block.type].label_count
        self.blocks.append(Declaration(name, item.origin, block, arguments, is_broken))


def _name_problems(block: ast.Block, origin: Origin) -> Iterator[Diagnostic]:
    for label in block.labels:
        if not label.text.strip():
            place = origin.range(label.start, label.end)
            yield error("KP139", place, f"A {block.type} has a name.")


def _with_suggestion(diagnostic: Diagnostic, items: Sequence[ast.Item]) -> Diagnostic:
    """Suggest the block of a fleet file nearest to an unknown one."""
    if diagnostic.code != "KP120" or diagnostic.hint:
        return diagnostic
    types = (each.content.type for each in items if isinstance(each.content, ast.Block))
    return replace(
        diagnostic, hint=next(filter(None, (suggestion(each, _SCHEMAS) for each in types)), "")
    )
