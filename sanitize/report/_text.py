"""Reports as one screen of text for a terminal: plain ASCII except for names, no colour codes."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sanitize._util.formatting import ELLIPSIS, Number, cells, clip, number, per_hundred, percent, shorten_pieces
from sanitize.report._document import column_list, grave
from sanitize.report._headline import PROMISES, RELATIONS, VERDICT_TOLERANCE, is_worst_case, measure_excess, sign_answer

# A usual terminal shows 80 columns. A public report fits its screen, an internal one a page, and five symbols leave
# room for the rest.
WIDTH = 80
LINES = {"public": 32, "internal": 50}
N_SYMBOLS = 5
# Labels of lines that are dropped to make room for warnings; other views show them.
_LEAST_NEEDED: tuple[str, ...] = ("Sibson information", "Arimoto information", "chi2 divergence")
_LEAST_NEEDED += ("local DP of the public", "local DP of S, worst")


def to_text(document: dict[str, Any]) -> str:
    """Return the document in at most 32 lines (public) or 50 lines (internal) of 80 columns.

    If the text is too long, sections are dropped first (that of effective rows without a note), then warnings after the
    first, then symbols, intervals and measures.
    """
    most = LINES[document["audience"]]
    head, sections = _head(document), document["sections"]
    # A promise is what the release claims, so its section is never dropped.
    promise = [line for section in sections if section["name"] in PROMISES for line in _section(section)]
    sections = [section for section in sections if section["name"] not in (*PROMISES, "person", "membership")]
    if document["audience"] == "public":
        lines = [*head, "", *_paragraph(document["left_out"]), *promise]
        parts = [line for section in sections for line in _section(section)]
        return "\n".join(lines + _shorten(parts, most - len(lines), "more"))
    measures, symbols = _measures(document["measures"]), _symbols(document["symbols"], document["n_symbols"])
    words = _paragraph(f"{utility_words(document)}.", most=2) + _judgement_lines(document.get("judgement")) + promise
    warnings = [line for text in document["warnings"] for line in _paragraph(f"! {clip(text, 400)}", most=4)]

    room = most - len(head) - len(words) - min(len(warnings), 3)
    if len(measures) > room:  # each interval takes a line
        measures = _measures([measure | {"low": None, "high": None} for measure in document["measures"]])
    if len(measures) > room:
        measures = [line for line in measures if not line.startswith(_LEAST_NEEDED)]
    measures = _shorten(measures, room, "more measures")
    symbols = _shorten(symbols, room - len(measures), "more symbols")
    blocks = [block for block in (head, measures, symbols, words) if block]
    lines = [line for block in blocks for line in ["", *block]][1:]
    if len(lines) + len(warnings) > most:
        lines = [line for block in blocks for line in block]
    if len(lines) + len(warnings) > most:
        lines = [line for line in lines if not line.startswith(_LEAST_NEEDED)]
    for i, section in enumerate(sections):
        section_lines, room = _section(section), most - len(lines) - len(warnings)
        follows = any(later["name"] != "power" for later in sections[i + 1 :])
        if section["name"] == "power" and len(section_lines) > room:
            break
        if len(section_lines) + follows > room:  # no cut sentence, no lone heading
            fits = len(section_lines) - len(section["rows"][1:N_SYMBOLS]) < room
            lines += _shorten(section_lines, room if fits else min(room, 1), "more sections")
            break
        lines += section_lines
    return "\n".join(lines + _shorten(warnings, most - len(lines), "! more warnings"))


def to_brief(document: dict[str, Any]) -> str:
    """Return a summary of about six lines of 80 columns: verdict, whom it covers, utility and serious warnings."""
    if document["audience"] == "public":
        return to_text(document)
    verdict, gravest, judged = document["verdict"], grave(document), document.get("judgement")
    more = len(document["warnings"]) - len(gravest)
    texts = [_title(verdict), verdict["sentence"], verdict["people"]]
    texts += [f"{judged['headline']}; --full shows the figures."] if judged else []
    texts.append(f"{utility_words(document, in_nats=False)}.")
    texts += [f"! {warning}" for warning in gravest]
    texts += [f"! warnings left out: {more}; --full shows them"] if more > 0 else []
    return "\n".join(line for text in texts if text for line in _paragraph(clip(text, 600)))


def _title(verdict: dict[str, Any]) -> str:
    """Headline with the mechanism of the release."""
    seeded = " | SEEDED" if verdict["seeded"] else ""
    return f"{verdict['headline']}{seeded} | {clip(verdict['mechanism'], 34)}, {clip(verdict['output'], 8)}"


def _judgement_lines(judgement: dict[str, Any] | None) -> list[str]:
    """Lines that compare attacks on people in the data with attacks on people outside it."""
    if judgement is None:
        return []
    sides = ("people", "outsiders") if judgement["n_outsiders"] is not None else ("people",)
    figures = [
        f"{attack['title'].lower()} {' / '.join(per_hundred(attack[side] or 0) for side in sides)}"
        for attack in judgement["attacks"]
    ]
    whom = "people in the data / outside it" if len(sides) > 1 else "people in the data"
    return _paragraph(f"{judgement['headline']} ({whom}, in 100): {', '.join(figures)}.", most=10)


def _shorten(lines: list[str], room: int, more: str) -> list[str]:
    """Cut lines to the available room, with a last line that says where to find the other lines; empty without room."""
    if len(lines) <= room:
        return lines
    return [*lines[: room - 1], f"{more}: see to_html() or to_json()"] if room > 0 else []


def measure_limit(measure: dict[str, Any]) -> str:
    """Describe the limit of a measure, with its direction."""
    if measure["bound"] is None:
        return "-"
    return f"{'>=' if measure['name'].endswith('min_log_lift') else '<='} {number(measure['bound'])}"


def interval(measure: dict[str, Any]) -> str:
    """Describe the interval of an estimate; empty if there is none."""
    if measure["low"] is None and measure["high"] is None:
        return ""
    return f"({number(measure['low'])} to {number(measure['high'])})"


def utility_words(document: dict[str, Any], *, in_nats: bool = True) -> str:
    """Sentence on the share of information kept in the public columns, optionally also in nats."""
    by_name = {measure["name"]: measure for measure in document["measures"]}
    if "mean_column_utility" in by_name:
        share = by_name["mean_column_utility"]["after"]
        own = f"{percent(float(share))} of the information in each column, on average{_price_words(by_name)}"
        # Rows in random order stand for no one, so the information they keep about a person is of no use.
        return relation_words(document["pairs"]) if RELATIONS in by_name else f"Keeps {own}"
    share, utility = by_name["normalized_utility"]["after"], by_name["utility"]
    roles = document["columns"]
    shown = roles["released"] + [name for name in roles["kept"] if name not in roles["sensitive"]]
    columns = column_list(shown, "+", limit=20) if len(shown) <= 3 else f"the {len(shown)} columns together"
    nats = f" ({number(utility['after'])} of {number(utility['before'])} nats)" if in_nats else ""
    return f"Keeps {percent(float(share))} of the information in {columns}{nats}{_price_words(by_name)}"


def relation_words(pairs: list[dict[str, Any]]) -> str:
    """Sentence on how many relations between columns the release keeps, weakens and loses."""
    if not pairs:
        return "No two columns are related, so generated rows have no relation to lose"
    states = Counter(pair["state"] for pair in pairs)
    words = f"Keeps {states['kept']} of {len(pairs)} relations between columns within 20 %"
    lost = " (of a lost one, half or more may be gone)" if states["lost"] else ""
    return f"{words}; {states['changed']} further off, {states['lost']} lost{lost}"


def _price_words(by_name: dict[str, dict[str, Any]]) -> str:
    """Describe the cost of confidence, and the gain from more rows with the same frequencies."""
    if "normalized_utility_plain" not in by_name:
        return ""
    measures = (by_name.get(f"normalized_utility_{name}") for name in ("plain", "10x", "100x"))
    plain, *more = (f"{100 * float(measure['after']):.3g} %" for measure in measures if measure)
    words = f"; {plain} without confidence"
    return f"{words}, {' and '.join(more)} with 10 and 100 x the rows (extrapolated)" if more else words


def margin_words(document: dict[str, Any]) -> str:
    """Describe the distance of the riskiest symbol from its budget; in public, only that the release is within it."""
    if document["audience"] == "public":
        return "; the release is within it" if document["verdict"]["state"] in ("source", "rows") else ""
    excess = document["verdict"]["worst_excess"]
    if excess is None or excess == "-inf":
        return ""
    if float(excess) > document["verdict"]["tolerance"]:
        return f"; exceeded by {number(excess)}"
    return f"; margin {number(max(0.0, -float(excess)))}"


def _head(document: dict[str, Any]) -> list[str]:
    verdict, columns = document["verdict"], document["columns"]
    sensitive = f"sensitive: {column_list(columns['sensitive'], most=3)}"
    released = f"released: {column_list(columns['released'], most=4)}"
    lines = _paragraph(_title(verdict))
    lines += _paragraph(clip(verdict["sentence"], 400), most=4)
    lines += _paragraph(clip(verdict["people"], 300), most=3) if verdict["people"] else []
    if cells(sensitive) + cells(released) + 4 <= WIDTH:
        lines.append(f"{sensitive}    {released}")
    else:
        lines += [*_paragraph(sensitive, most=1), *_paragraph(released, most=1)]
    if columns["kept"]:
        lines += _paragraph(f"kept as they are: {column_list(columns['kept'], most=4)}", most=1)
    if document.get("n_rows") is not None:
        lines.append(f"rows: {document['n_rows']}")
    lines += _paragraph(f"limit: {verdict['allowed']}{margin_words(document)}", most=3)
    lines += [line for s in document["sections"] if s["name"] == "person" for line in _paragraph(s["words"], most=4)]
    if document["audience"] == "internal":
        answer, conditions = sign_answer(document)
        whether = "; ".join(condition[0].lower() + condition[1:] for condition, _ in conditions)
        lines += _paragraph(f"May you sign? {answer}{whether and f' {whether}.'}", most=5)
    lines += [f"design: {clip(verdict['optimality']['words'], 70)}"] if verdict.get("optimality") else []
    return lines + _paragraph(clip(verdict["alone"], 200), most=2)


def _measures(measures: list[dict[str, Any]]) -> list[str]:
    """Lines of the table of measures; the kind of figures is stated once, and again where it differs."""
    # The utility has a sentence of its own, and each line counts.
    shown = [measure for measure in measures if not measure["name"].startswith(("utility", "normalized_utility"))]
    first = ("max_log_lift", "min_log_lift", "ldp_sensitive")  # lifts first: the end may be cut
    rows = sorted(shown, key=lambda measure: (not measure["name"].endswith(first), is_worst_case(measure)))
    kinds = {measure["kind"] for measure in rows}
    title = f"measure (all {kinds.pop()})" if len(kinds) == 1 else "measure (exact if not marked)"
    lines = [f"{title:<34}{'before':>11}{'after':>11}{'allowed':>13}  unit"]
    for measure in rows:
        mark = {"exact": "", "bound": " bnd.", "estimate": " est."}[measure["kind"]] if kinds else ""
        figures = f"{number(measure['before']):>11}{number(measure['after']):>11}{measure_limit(measure):>13}"
        if measure_excess(measure) > VERDICT_TOLERANCE:
            mark = f"{mark.rstrip('.') or ' '}!"
        lines.append(f"{_pad(measure['label'], 34)}{figures}  {clip(measure['unit'], 4)}{mark}")
        if interval(measure):
            lines.append(f"{'':<34}{'':>11}{interval(measure):>24}")
    return lines


def _symbols(symbols: list[dict[str, Any]], n_symbols: int) -> list[str]:
    title = f"riskiest {len(symbols)} of {n_symbols} released symbols"
    lines = [f"{title:<36}{'share':>11}{'min log':>11}{'max log':>11}{'excess':>11}"]
    for row in symbols:
        figures = (row[name] for name in ("probability", "min_log_lift", "max_log_lift", "excess"))
        lines.append(_pad(row["symbol"], 36) + "".join(f"{number(figure):>11}" for figure in figures))
    return lines


def _section(section: dict[str, Any]) -> list[str]:
    """Lines of a section: heading, text and the first rows."""
    head, *columns = section["columns"] or [""]
    words = f"{section['title']}: {section['words']}" if section["words"] else section["title"]
    lines = ["", *_paragraph(clip(words, 400), most=3)]
    if columns:
        lines.append(_pad(head, 36) + "".join(f"{clip(name, 10):>11}" for name in columns[:4]))
    for name, *cells_ in section["rows"][:N_SYMBOLS]:
        shown = (clip(cell, 10) if is_words(cell) else number(cell) for cell in cells_[:4])
        lines.append(_pad(str(name), 36) + "".join(f"{cell:>11}" for cell in shown))
    return lines


def is_words(cell: Number) -> bool:
    """Return whether a cell of a section is text instead of a figure."""
    return isinstance(cell, str) and cell not in ("inf", "-inf")


def _pad(text: str, width: int) -> str:
    shown = clip(text, width - 1)
    return shown + " " * (width - cells(shown))


def _paragraph(text: str, most: int = 99) -> list[str]:
    """Wrap text, without hidden characters, to at most ``most`` lines; an ellipsis marks longer text."""
    first, *words = (shorten_pieces(word, WIDTH - 2) for word in text.split(" "))
    lines = [first]
    for word in words:
        if cells(lines[-1]) + 1 + cells(word) <= WIDTH:
            lines[-1] += f" {word}"
        else:
            lines.append(f"  {word}")
    if len(lines) > most:
        last = shorten_pieces(lines[most - 1], WIDTH - len(ELLIPSIS)).removesuffix(ELLIPSIS)
        lines = [*lines[: most - 1], last + ELLIPSIS]
    return lines
