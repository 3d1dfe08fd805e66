"""Screenshots of the dashboards: each in light and dark, on a desk and on a phone; `make shots` takes them.

They show the served demo with 100,000 signals and over 20,000 attestations, which is built once for each version of
its code and kept in the user's cache.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image
from playwright.sync_api import Page

from attestlab.demos import served
from attestlab.embedded.demo_cache import copy_world, find_caches
from attestlab_dashboards.page_list import PAGES
from support.browser import CHROMIUM, open_browser
from support.dashboards.demo_server import serve_folder
from support.dashboards.windows import DESK, HAND, Windows
from support.fork_server import close_fork_server

MINT_TIMES = 16  # an ordinary demo has some 1,300 attestations
SCHEMES = ("light", "dark")
DEVICES: dict[str, dict[str, Any]] = {"1280": {"viewport": DESK}, "390": HAND}
FOLDER = Path("build") / "shots"
IMAGES = Path("docs") / "images"
README_PAGE = "risk"
README_COLOURS = 128  # of the palette, which makes a picture a third as large


def main() -> None:
    """Take the screenshots, or those of the README."""
    parser = argparse.ArgumentParser(prog="make shots", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help="where the pictures go")
    parser.add_argument("--times", type=int, default=MINT_TIMES, help="times the attestations of an ordinary demo")
    parser.add_argument("--readme", action="store_true", help="take the two pictures of the README instead")
    arguments = parser.parse_args()
    if CHROMIUM is None:
        sys.exit("make shots needs Chromium, and there is none on this machine: apt-get install chromium")
    with TemporaryDirectory() as folder, _open_windows(Path(folder), arguments.times) as windows:
        take = _take_readme_shots(windows, IMAGES) if arguments.readme else _take_shots(windows, arguments.folder)
        for file in take:
            print(file)
    close_fork_server()


@contextmanager
def _open_windows(folder: Path, times: int) -> Iterator[Windows]:
    """Serve a copy of the world, and open windows of its people."""

    def build(data: Path) -> None:
        served.create_world(data, mint_times=times)

    copy_world(f"shots-{times}", folder / "data", build, caches=find_caches())
    with serve_folder(folder) as server, open_browser() as browser:
        windows = Windows(browser, server)
        yield windows
        windows.close()


def _take_shots(windows: Windows, folder: Path) -> Iterator[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for scheme, width, page in product(SCHEMES, DEVICES, PAGES):
        with _visit(windows, page.path, scheme, DEVICES[width]) as window:
            _grow(window)
            file = folder / f"{page.path}-{scheme}-{width}.png"
            window.screenshot(path=file)
        yield file


def _take_readme_shots(windows: Windows, folder: Path) -> Iterator[Path]:
    """Take the first screen of a dashboard in light and dark, with a palette of few colours."""
    for scheme in SCHEMES:
        with _visit(windows, README_PAGE, scheme, DEVICES["1280"]) as window:
            picture = Image.open(BytesIO(window.screenshot())).convert("RGB")
        file = folder / f"dashboard-{scheme}.png"
        picture.quantize(README_COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
        yield file


@contextmanager
def _visit(windows: Windows, path: str, scheme: str, device: dict[str, Any]) -> Iterator[Page]:
    options = {"color_scheme": scheme, "reduced_motion": "reduce", **device}
    with windows.visit(f"/dash/{path}", **options) as window:
        window.evaluate("document.fonts.ready.then(() => true)")
        yield window


def _grow(window: Page) -> None:
    """Make the window as high as its page, so that what sticks to its edges stays there."""
    size = window.viewport_size
    assert size is not None, "every window has a size"
    height = window.evaluate("document.documentElement.scrollHeight")
    window.set_viewport_size({"width": size["width"], "height": max(size["height"], height)})


if __name__ == "__main__":
    main()
