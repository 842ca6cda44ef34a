"""Views of a report: text, JSON and one self-contained HTML page."""
