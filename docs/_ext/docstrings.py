"""What numpydoc and reStructuredText do not know of the docstrings of this project."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util.nodes import make_refnode

if TYPE_CHECKING:
    from sphinx.application import Sphinx

QUOTED = re.compile(r"(`+[^`]+`+)")


def show_guarantee(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Print the section *Guarantee*, which numpydoc would drop, among the notes."""
    if "Guarantee" not in lines:
        return
    start = lines.index("Guarantee")
    stop = next((i for i in range(start + 2, len(lines) - 1) if re.fullmatch("-{3,}", lines[i + 1])), len(lines))
    body = lines[start + 2 : stop]
    del lines[start:stop]
    body[0] = f"**Guarantee.** {body[0]}"
    if "Notes" in lines:
        at = lines.index("Notes") + 2
        lines[at:at] = [*body, ""]
    else:
        lines += ["", "Notes", "-----", *body]


def keep_formulas(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape the bars and underscores of formulas such as |X| and X_-i, which mean something else in markup."""
    example = False
    for i, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example:
            parts = QUOTED.split(line)
            parts[::2] = [re.sub(r"(?<=\w)_(?!\w)", r"\_", part.replace("|", r"\|")) for part in parts[::2]]
            lines[i] = "".join(parts)


def link_short_names(app: Sphinx, env: Any, node: Any, contnode: Any) -> nodes.reference | None:
    """Where a name in a docstring of one module leads: to the object of that name, wherever it is documented."""
    if node.get("refdomain") != "py":
        return None
    domain = env.get_domain("py")
    target = node["reftarget"]
    last = target.rpartition(".")[2]  # `sanitize.name` has its page under the submodule that exports it, too
    matches = domain.find_obj(env, None, None, target, None, 1)
    matches = matches or (domain.find_obj(env, None, None, last, None, 1) if target == f"sanitize.{last}" else [])
    if not matches:
        return None
    name, entry = min(matches, key=lambda match: len(match[0]))
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, contnode, name)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register; the first two run before numpydoc reads the docstring, or its page is made."""
    app.connect("autodoc-process-docstring", show_guarantee, priority=100)
    app.connect("autodoc-process-docstring", keep_formulas, priority=200)
    app.connect("missing-reference", link_short_names)
    return {"parallel_read_safe": True}
