"""Addresses that a CI job knows, for reports that are read elsewhere."""

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import SourceRange
from kplan.report.data import Data


def code_address(docs_url: str, code: str) -> str:
    """Return the address of the page of a code in a manual, "" if it is nowhere."""
    return f"{docs_url.rstrip('/')}/codes/#{code.lower()}" if docs_url and code else ""


def link_diagnostics(data: Data, docs_url: str) -> Data:
    """Add `docs_url`, the page of its code, to each diagnostic of a document or a message.

    A document has them under `diagnostics`, a plan under `kplan.diagnostics`, and a message has
    one under `diagnostic`. Without a manual the data is returned as it is.
    """
    if not docs_url or not isinstance(data, Mapping):
        return data
    found = dict(data)
    if isinstance(several := found.get("diagnostics"), Sequence):
        found["diagnostics"] = [_link_diagnostic(each, docs_url) for each in several]
    if "diagnostic" in found:
        found["diagnostic"] = _link_diagnostic(found["diagnostic"], docs_url)
    if "kplan" in found:
        found["kplan"] = link_diagnostics(found["kplan"], docs_url)
    return found


def _link_diagnostic(diagnostic: Data, docs_url: str) -> Data:
    if not isinstance(diagnostic, Mapping):
        return diagnostic
    address = code_address(docs_url, str(diagnostic.get("code") or ""))
    return {**diagnostic, "docs_url": address} if address else diagnostic


@dataclass(frozen=True, slots=True)
class Links:
    """Where the run, its commit, its page and the lines of its files are; "" is not known.

    `line` is a pattern with `{path}` and `{line}` for a line of a file of the repository, and
    `folder` leads from the top of that to the configuration, "" or ending in a slash. `apply_hint`
    says how the plan is applied, or who may. `docs_url` is where the manual is.
    """

    run: str = ""
    commit: str = ""
    revision: str = ""
    page: str = ""
    line: str = ""
    folder: str = ""
    apply_hint: str = ""
    docs_url: str = ""

    def line_address(self, place: SourceRange | None) -> str:
        """Return the address of the line where something is declared, "" if it has none."""
        if not self.line or place is None or place.file.startswith(("/", "..")):
            return ""
        path = quote(f"{self.folder}{place.file}")
        return self.line.replace("{path}", path).replace("{line}", str(place.line))

    def code_address(self, code: str) -> str:
        """Return the address of the page of a code, "" if there is no manual."""
        return code_address(self.docs_url, code)

    def addresses(self) -> Iterator[tuple[str, str]]:
        """Return name and address of all that concerns the run as a whole."""
        if self.run:
            yield "Run", self.run
        if self.commit:
            yield f"Commit {self.revision[:7]}", self.commit
        if self.page:
            yield "Report", self.page


NO_LINKS = Links()
