"""Look at pages of reports in a real browser: nothing sticks out at any width, nothing runs, nothing is loaded.

Run it by hand or in CI: ``python tests/support/browser_check.py``. It needs Chromium, and says so where there is none.
The script that measures lives in a page around the report, never in the report.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import sanitize as sz
from sanitize.report import Section
from sanitize.report._facts import ReleaseFacts

WIDTHS = (360, 768, 1280, 1920)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=5000",
    "--dump-dom",
)
# Scrolling inside a table's own box is meant; everything else must fit. `hit` is set if a page could run code.
MEASURE = """
<pre id="found"></pre>
<script>
window.hit = 0;
addEventListener("load", () => {
  const found = [];
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument, width = frame.clientWidth;
    const out = [...page.querySelectorAll("*")].filter((part) => {
      if (part.closest("svg")?.parentElement?.closest("svg") || part.parentElement?.closest(".scroll")) return false;
      const box = part.getBoundingClientRect();
      return box.right > width + 0.5 || box.left < -0.5;
    });
    found.push({name: frame.name, width, page: page.documentElement.scrollWidth,
      out: out.slice(0, 3).map((part) => part.tagName + "." + (part.getAttribute("class") || "")),
      scripts: page.scripts.length, loaded: frame.contentWindow.performance.getEntriesByType("resource").length,
      titled: [...page.querySelectorAll("svg[role=img]")].every((part) => part.querySelector("title")),
      height: page.documentElement.scrollHeight});
  }
  document.getElementById("found").textContent = JSON.stringify({hit: window.hit, found});
});
</script>
"""
HOSTILE = {
    "script": "<script>parent.hit=1</script><img src=x onerror='parent.hit=1'>",
    "override": "\u202egnp.exe\u2066",
    "control": "a\x00b\x1b[31m\nc\u2028d",
    "emoji": "\U0001f469\u200d\U0001f469\u200d\U0001f467" * 40,
    "arabic": "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645 " * 9,
    "long": "n" * 10_000,
}


def pages() -> dict[str, str]:
    """Pages of a bundled table, of laws with hostile names and of many symbols, for both audiences."""
    table = sz.datasets.load_titanic()
    joint = sz.JointDistribution.from_frame(table, sensitive="survived", public=["class", "sex"])
    budget = sz.LiftBudget(lower=1.0, upper=0.5)
    report = sz.LeakageReport.measure(joint, sz.subset_merging(joint, budget), budget)
    report = report.with_curve(sz.suggestion.tradeoff_curve(joint, sz.subset_merging, [0, 0.25, 0.5, 1, 2]))
    made = {"titanic": report.to_html(), "titanic-public": report.to_html(audience="public")}
    for kind, name in HOSTILE.items():
        made[kind] = _hostile(name, 30, 8).to_html()
        made[f"{kind}-public"] = _hostile(name, 30, 8).to_html(audience="public")
    made["many"] = _hostile("symbol", 10_000, 2).to_html()
    return made


def _hostile(name: str, n_x: int, n_s: int) -> sz.LeakageReport:
    rng = np.random.default_rng(1)
    pmf = rng.random((n_s, n_x))
    joint = sz.JointDistribution(
        pmf / pmf.sum(),
        sz.alphabet.Alphabet((f"{name}s",), [f"{i}{name}" for i in range(n_s)]),
        sz.alphabet.Alphabet((name,), [f"{i:05d}{name}" for i in range(n_x)]),
        1000,
    )
    facts = ReleaseFacts(mechanism=name, release=name, seeded=True, n_unseen=3, warnings=(name,), kept=(name,))
    report = sz.LeakageReport.measure(
        joint, sz.Channel.identity(n_x, joint.public), sz.LiftBudget.symmetric(9), facts=facts
    )
    section = Section(name, name, name, (name, name), ((name, name), (name, 1 / 3)), public=True)
    return report.with_section(section).with_curve(sz.suggestion.tradeoff_curve(joint, sz.watchdog, [0, 1]))


def look(browser: str, made: dict[str, str], width: int) -> list[str]:
    """Faults of the pages at a width."""
    frames = "".join(
        f'<iframe name="{name}" style="border:0;width:{width}px;height:800px" srcdoc="{html.escape(page)}"></iframe>'
        for name, page in made.items()
    )
    with tempfile.TemporaryDirectory() as folder:
        around = Path(folder, "around.html")
        around.write_text(f"<!doctype html><meta charset='utf-8'>{frames}{MEASURE}", encoding="utf-8")
        root = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's sandbox refuses root
        command = [browser, *FLAGS, *root, f"--user-data-dir={folder}/profile", around.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    text = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    if text is None or not text[1]:
        return [f"{width}: the browser measured nothing"]
    result = json.loads(html.unescape(text[1]))
    faults = ["a report ran code"] if result["hit"] else []
    if len(result["found"]) != len(made):
        faults.append(f"{width}: {len(result['found'])} of {len(made)} pages were measured")
    for page in result["found"]:
        where = f"{page['name']} at {width}"
        if page["width"] != width or page["page"] > width or page["out"]:
            faults.append(f"{where}: wider than the window ({page['page']}), {page['out']} stick out")
        if page["scripts"] or page["loaded"]:
            faults.append(f"{where}: {page['scripts']} scripts, {page['loaded']} loaded files")
        if not page["titled"] or page["height"] < 400:
            faults.append(f"{where}: a picture without title, or hardly a page")
    return faults


def main() -> int:
    """Look at every page at every width; 1 if there is a fault."""
    browser = next((path for name in NAMES if (path := shutil.which(name))), None)
    if browser is None:
        print("there is no Chromium on this machine: pages of reports were NOT looked at")
        return 0
    made = pages()
    faults = [fault for width in WIDTHS for fault in look(browser, made, width)]
    print("\n".join(faults) or f"{len(made)} pages at {len(WIDTHS)} widths: nothing sticks out, runs or loads")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
