"""Look at pages of reports in a real browser: nothing sticks out, is cut or hard to read, runs or is loaded.

Run it by hand or in CI: ``python tests/support/browser_check.py``. It needs Chromium, and fails where there is none.
The script that measures lives in a page around the report, never in the report. Pages that people get are looked at in
the dark and by the rules of print as well, and take two pages of paper. With ``--site FOLDER`` it looks at the
documentation built there, too, light and dark. With ``--pictures FOLDER`` it also takes pictures of them, to be looked
at.
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
from shown_pages import shown_reports

import sanitize as sz
from sanitize.policy import make_plan
from sanitize.report import Material, Section, dossier
from sanitize.report._facts import ReleaseFacts

AUDIENCES = ("internal", "public")
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
)
DARK = ("--blink-settings=preferredColorScheme=0",)
PRINTED = 2  # pages at most
# Scrolling inside a table's own box is meant; everything else must fit. `hit` is set if a page could run code.
MEASURE = """
<pre id="found"></pre>
<script>
window.hit = 0;
// Words that are hard to read [WCAG 2.1, AA]: less than 4.5:1 against what they stand on, or 3:1 in large letters.
const channels = (colour) => (colour.match(/[\\d.]+/g) || []).map(Number);
const light = (colour) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
  const share = colour[i] / 255;
  return sum + weight * (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4);
}, 0);
const ground = (part, view) => {
  if (!part) return [255, 255, 255];
  const [r, g, b, alpha = 1] = channels(view.getComputedStyle(part).backgroundColor);
  if (alpha === 1) return [r, g, b];
  return ground(part.parentElement, view).map((below, i) => alpha * [r, g, b][i] + (1 - alpha) * below);
};
const faint = (page, view) => [...page.querySelectorAll("body *")].filter((part) => {
  if (![...part.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) return false;
  const style = view.getComputedStyle(part), box = part.getBoundingClientRect();
  if (!box.width || style.visibility === "hidden" || part.closest("style, script, title, head")) return false;
  const words = channels(part.closest("svg") ? style.fill : style.color), size = parseFloat(style.fontSize);
  const pair = [light(words), light(ground(part, view))].sort((a, b) => b - a);
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  return (pair[0] + 0.05) / (pair[1] + 0.05) < (large ? 3 : 4.5);
}).map((part) => part.tagName + "." + (part.getAttribute("class") || ""));
addEventListener("load", () => {
  const found = [];
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument, width = frame.clientWidth;
    page.querySelectorAll("details").forEach((part) => { part.open = true; });
    const cut = [...page.querySelectorAll("*")].filter((part) => part.scrollWidth > part.clientWidth + 1
      && getComputedStyle(part).overflowX === "hidden" && !part.closest("svg"));
    const out = [...page.querySelectorAll("*")].filter((part) => {
      if (part.closest("svg")?.parentElement?.closest("svg") || part.parentElement?.closest(".scroll")) return false;
      const box = part.getBoundingClientRect();
      return box.right > width + 0.5 || box.left < -0.5;
    });
    found.push({name: frame.name, width, page: page.documentElement.scrollWidth,
      cut: cut.slice(0, 3).map((part) => part.tagName),
      out: out.slice(0, 3).map((part) => part.tagName + "." + (part.getAttribute("class") || "")),
      faint: [...new Set(faint(page, frame.contentWindow))].slice(0, 3),
      code: [...page.querySelectorAll("pre")].filter((part) => part.scrollWidth > part.clientWidth + 1).length,
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
    """Pages of a bundled table, of distributions with hostile names and of many symbols, for both audiences."""
    table = sz.datasets.load_titanic()
    joint = sz.JointDistribution.from_frame(table, sensitive="survived", public=["class", "sex"])
    budget = sz.LiftBudget(lower=1.0, upper=0.5)
    report = sz.LeakageReport.measure(joint, sz.subset_merging(joint, budget), budget)
    report = report.with_curve(sz.release.choosing.tradeoff_curve(joint, sz.subset_merging, [0, 0.25, 0.5, 1, 2]))
    made = {"titanic": report.to_html(), "titanic-public": report.to_html(audience="public")}
    for kind, name in HOSTILE.items():
        made[kind] = _hostile(name, 30, 8).to_html()
        made[f"{kind}-public"] = _hostile(name, 30, 8).to_html(audience="public")
        material = Material(
            (("report", name, "0" * 64),), ((name, name),), (name,), ((name, "passed", name),), 0.1, (1, name)
        )
        made[f"{kind}-dossier"] = dossier(_hostile(name, 30, 8).to_dict(), material, "html")
    made["many"] = _hostile("symbol", 10_000, 2).to_html()
    return made


def own_pages() -> dict[str, str]:
    """The owner's other pages: a plan and what attacks found of a release."""
    study = sz.datasets.load_framingham()
    lines = {"sensitive": ["heart_disease"], "public": ["cholesterol", "blood_pressure"]}
    budget = {"at_most": 1.65, "at_least": 0.37}
    policy = sz.Policy.from_dict({"version": 1, "columns": lines, "budget": budget, "channel": {"mechanism": "auto"}})
    with tempfile.TemporaryDirectory() as folder:
        study.to_parquet(table := Path(folder, "study.parquet"))
        planned = make_plan(policy, table).to_html()
    limit = sz.LiftBudget(at_most=2, at_least=0.33)
    released = sz.LatentClassRelease(limit, sensitive="heart_disease").fit_transform(study)
    return {"plan": planned, "judged": sz.auditing.attack.judge(released, study, sensitive="heart_disease").to_html()}


def _hostile(name: str, n_x: int, n_s: int) -> sz.LeakageReport:
    rng = np.random.default_rng(1)
    pmf = rng.random((n_s, n_x))
    joint = sz.JointDistribution(
        pmf / pmf.sum(),
        sz.core.alphabet.Alphabet((f"{name}s",), [f"{i}{name}" for i in range(n_s)]),
        sz.core.alphabet.Alphabet((name,), [f"{i:05d}{name}" for i in range(n_x)]),
        1000,
    )
    facts = ReleaseFacts(mechanism=name, output=name, seeded=True, n_unseen=3, warnings=(name,), kept=(name,))
    report = sz.LeakageReport.measure(
        joint, sz.Channel.identity(n_x, joint.public), sz.LiftBudget.symmetric(9), facts=facts
    )
    section = Section(name, name, name, (name, name), ((name, name), (name, 1 / 3)))
    return report.with_section(section).with_curve(sz.release.choosing.tradeoff_curve(joint, sz.watchdog, [0, 1]))


def as_printed(page: str) -> str:
    """The page with the rules of print on a screen, whose words can be measured."""
    assert page.count("@media print") > 1
    return page.replace("@media print", "@media all")


def look(browser: str, made: dict[str, str], width: int, *, dark: bool = False) -> list[str]:
    """Faults of the pages at a width."""
    frames = "".join(
        f'<iframe name="{name}" style="border:0;width:{width}px;height:800px" srcdoc="{html.escape(page)}"></iframe>'
        for name, page in made.items()
    )
    with tempfile.TemporaryDirectory() as folder:
        around = Path(folder, "around.html")
        around.write_text(f"<!doctype html><meta charset='utf-8'>{frames}{MEASURE}", encoding="utf-8")
        told = run(browser, folder, around, "--dump-dom", *(DARK if dark else ()))
    text = re.search(r'<pre id="found">(.*?)</pre>', told, re.DOTALL)
    if text is None or not text[1]:
        return [f"{width}: the browser measured nothing"]
    result = json.loads(html.unescape(text[1]))
    faults = ["a report ran code"] if result["hit"] else []
    if len(result["found"]) != len(made):
        faults.append(f"{width}: {len(result['found'])} of {len(made)} pages were measured")
    for page in result["found"]:
        where = f"{page['name']} at {width}{' in the dark' * dark}"
        if page["width"] != width or page["page"] > width or page["out"]:
            faults.append(f"{where}: wider than the window ({page['page']}), {page['out']} stick out")
        if page["faint"]:
            faults.append(f"{where}: words of {page['faint']} are too faint for where they stand")
        if page["cut"]:
            faults.append(f"{where}: words of {page['cut']} are cut")
        if page["scripts"] or page["loaded"]:
            faults.append(f"{where}: {page['scripts']} scripts, {page['loaded']} loaded files")
        if not page["titled"] or page["height"] < 400:
            faults.append(f"{where}: a picture without title, or hardly a page")
    return faults


def look_at_site(browser: str, site: Path, width: int, *, dark: bool = False) -> list[str]:
    """Faults of the documentation's pages at a width, but for those of its reference, which a tool writes."""
    places = [place for place in sorted(site.rglob("*.html")) if "api" not in place.parts]
    frames = "".join(
        f'<iframe name="{place.relative_to(site)}" style="border:0;width:{width}px;height:800px" '
        f'src="{place.resolve().as_uri()}"></iframe>'
        for place in places
    )
    with tempfile.TemporaryDirectory() as folder:
        around = Path(folder, "around.html")
        around.write_text(f"<!doctype html><meta charset='utf-8'>{frames}{MEASURE}", encoding="utf-8")
        options = ("--allow-file-access-from-files", *(DARK if dark else ()))
        told = run(browser, folder, around, "--dump-dom", *options)
    text = re.search(r'<pre id="found">(.*?)</pre>', told, re.DOTALL)
    found = json.loads(html.unescape(text[1]))["found"] if text is not None and text[1] else []
    faults = [] if len(found) == len(places) > 0 else [f"{len(found)} of {len(places)} pages were measured at {width}"]
    for page in found:
        where = f"{page['name']} at {width}{' in the dark' * dark}"
        if page["page"] > width or page["code"]:
            faults.append(f"{where}: {page['page']} wide, {page['code']} blocks of code are cut")
        if page["faint"]:
            faults.append(f"{where}: words of {page['faint']} are too faint for where they stand")
    return faults


def run(browser: str, folder: str, page: Path, *options: str) -> str:
    """What the browser prints of a page."""
    root = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's sandbox refuses root
    command = [browser, *FLAGS, *root, f"--user-data-dir={folder}/profile", *options, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout


def print_out(browser: str, made: dict[str, str]) -> list[str]:
    """Faults of the pages in print."""
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        for name, page in made.items():
            place, paper = Path(folder, "page.html"), Path(folder, "page.pdf")
            place.write_text(page, encoding="utf-8")
            run(browser, folder, place, "--no-pdf-header-footer", f"--print-to-pdf={paper}")
            n_pages = len(re.findall(rb"/Type\s*/Page\b", paper.read_bytes()))
            if not 1 <= n_pages <= PRINTED:
                faults.append(f"{name}: {n_pages} pages in print")
    return faults


def take_pictures(browser: str, made: dict[str, str], target: Path) -> None:
    """Each page narrow and wide, light and dark."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, page in made.items():
            place = Path(folder, "page.html")
            place.write_text(page, encoding="utf-8")
            for width, theme in ((360, "light"), (1280, "light"), (1280, "dark")):
                dark = DARK if theme == "dark" else ()
                shot = f"--screenshot={target / f'{name}-{width}-{theme}.png'}"
                run(browser, folder, place, *dark, "--hide-scrollbars", f"--window-size={width},2400", shot)


def main() -> int:
    """Look at every page at every width; 1 if there is a fault."""
    browser = next((path for name in NAMES if (path := shutil.which(name))), None)
    if browser is None:
        print("there is no Chromium on this machine (Debian: apt-get install chromium): no page was looked at")
        return 1
    reports = shown_reports()
    shown = {f"{name}-{who}": report.to_html(audience=who) for name, report in reports.items() for who in AUDIENCES}
    own = own_pages()
    made = pages() | own | shown
    faults = [fault for width in WIDTHS for fault in look(browser, made, width)]
    faults += [fault for width in (360, 1280) for fault in look(browser, shown, width, dark=True)]
    # Paper of A4 is 794 px wide; the dark is not asked for on it, whatever the screen is.
    printed = {f"{name} in print": as_printed(page) for name, page in shown.items()}
    faults += [fault for dark in (False, True) for fault in look(browser, printed, 794, dark=dark)]
    faults += print_out(browser, shown)
    if sys.argv[1:2] == ["--site"]:
        views = ((360, False), (1280, False), (1280, True))
        faults += [
            fault for width, dark in views for fault in look_at_site(browser, Path(sys.argv[2]), width, dark=dark)
        ]
    if sys.argv[1:2] == ["--pictures"]:
        take_pictures(browser, own | shown, Path(sys.argv[2]))
    well = f"{len(made)} pages at {len(WIDTHS)} widths: nothing sticks out, is cut, faint, runs or loads; "
    print("\n".join(faults) or f"{well}{len(shown)} in print: {PRINTED} pages each at most")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
