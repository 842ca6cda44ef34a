"""Make the pictures of the README and the home page again, from real runs: ``python docs/pictures/make.py``.

It runs the README's own release of its survey, and a plan of the same table, and takes pictures of the pages
with Chromium. Pictures are cut to what a reader sees first and kept to few colours, so that they are small.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from sanitize.cli import main

HERE = Path(__file__).parent
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
POLICY = ["-p", str(HERE.parent / "survey.toml")]
# Width and height of the window in CSS pixels: what is seen first.
WINDOWS = {"report": (1000, 970), "plan": (1000, 920)}
COLOURS = 28


def pages(folder: Path) -> dict[str, Path]:
    """The report of the README's release, and the plan of the same table, as pages."""
    raw, made = folder / "survey.parquet", {name: folder / f"{name}.html" for name in WINDOWS}
    subprocess.run([sys.executable, "-m", "sanitize.datasets", "survey", str(raw)], check=True)
    released = str(folder / "released.parquet")
    assert main(["release", str(raw), "-o", released, *POLICY, "--report", str(made["report"])]) == 0
    assert main(["plan", str(raw), *POLICY, "--html", str(made["plan"])]) == 0
    return made


def shoot(page: Path, picture: Path, window: tuple[int, int]) -> None:
    """Picture of a page in a window of this size, at one and a half times the pixels."""
    browser = next((found for name in NAMES if (found := shutil.which(name))), None)
    if browser is None:
        sys.exit("pictures are taken with Chromium, and there is none on this machine")
    size = f"--window-size={window[0]},{window[1]}"
    flags = ["--headless", "--disable-gpu", "--no-sandbox", "--hide-scrollbars", "--force-device-scale-factor=1.5"]
    subprocess.run([browser, *flags, size, f"--screenshot={picture}", page.as_uri()], check=True, capture_output=True)
    with Image.open(picture) as taken:
        taken.convert("RGB").quantize(COLOURS).save(picture, optimize=True)


def run() -> None:
    """Make all pictures."""
    with tempfile.TemporaryDirectory() as folder:
        for name, page in pages(Path(folder)).items():
            shoot(page, HERE / f"{name}.png", WINDOWS[name])
            print(f"{name}.png: {(HERE / f'{name}.png').stat().st_size // 1024} kB")


if __name__ == "__main__":
    run()
