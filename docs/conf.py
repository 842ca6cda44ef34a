"""Configuration of the documentation. Build: `sphinx-build -W --keep-going -n docs site` from the root."""

import sys
import warnings
from pathlib import Path

import latex2mathml.converter
from docutils.nodes import SkipNode

import sanitize

# numpydoc looks at docstrings once more before `show_guarantee` has turned this section into a note.
warnings.filterwarnings("ignore", "Unknown section Guarantee")
sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "sanitize"
author = "The sanitize developers"
copyright = author
version = release = sanitize.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "docstrings",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]

# Every cross-reference must lead somewhere. A name in single backticks is a link if it can be imported.
nitpicky = True
default_role = "autolink"
nitpick_ignore = [("py:obj", "site")]  # a column of a table, and a module of Python

myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # docstrings state shapes and units, which annotations cannot
autodoc_member_order = "bysource"
autodoc_default_options = {  # of base classes: scikit-learn's, and how a release is made
    "exclude-members": "get_metadata_routing, set_fit_request, set_output, get_params, set_params, fit_transform, "
    "recipe_type"
}
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "sanitize"
html_static_path = ["_static"]
html_extra_path = ["llms.txt", "../sanitize/policy/policy.schema.json"]  # at the root of the site
html_css_files = ["pages.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
}
html_sidebars = {"*": []}  # a page that is in no folder has no section to list

# Formulas become MathML, which browsers draw by themselves: no script and no font from elsewhere.
html_math_renderer = "mathml"


def _formula(display):
    def visit(translator, node):
        formula = latex2mathml.converter.convert(node.astext(), display=display)
        translator.body.append(f"<p>{formula}</p>" if display == "block" else formula)
        raise SkipNode

    return visit, None


def setup(app):
    """Register the renderer of formulas."""
    app.add_html_math_renderer("mathml", inline_renderers=_formula("inline"), block_renderers=_formula("block"))
