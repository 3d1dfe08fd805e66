"""A real JupyterLab for tests: its server, and a notebook in Chromium whose cells run one after the other."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import nbformat
from playwright.sync_api import Locator, Page

from support.ports import hold_port
from support.timeouts import WAIT_TIMEOUT_S

QUIET = (
    "--ServerApp.ip=127.0.0.1",
    "--IdentityProvider.token=",
    "--LabApp.expose_app_in_browser=True",
    "--LabApp.news_url=None",
    "--LabApp.extension_manager=readonly",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
)


@contextmanager
def serve_jupyter_lab(folder: Path) -> Iterator[str]:
    """Serve the notebooks of a folder; yields the address of the server."""
    own = {f"JUPYTER_{name}_DIR": str(folder / f".{name.lower()}") for name in ("CONFIG", "DATA", "RUNTIME")}
    with hold_port() as port:
        command = (sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}")
        with (folder / ".log").open("w") as log:
            process = subprocess.Popen(
                [*command, f"--notebook-dir={folder}", *QUIET], env={**os.environ, **own}, stdout=log, stderr=log
            )
        try:
            _wait_for(f"http://127.0.0.1:{port}/api", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + WAIT_TIMEOUT_S
    while True:
        assert process.poll() is None, "JupyterLab has ended"
        assert time.monotonic() < deadline, "JupyterLab does not answer"
        try:
            httpx.get(url, timeout=WAIT_TIMEOUT_S)
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return


def write_notebook(path: Path, cells: Sequence[str]) -> None:
    """Write a notebook of code cells."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])  # type: ignore[no-untyped-call]
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call]


# What is run before the notebook has its kernel is lost, so its state is that of the application, not of an icon.
_IS_READY = """() => {
  const notebook = globalThis.jupyterapp?.shell.currentWidget;
  return notebook?.context?.isReady && notebook.sessionContext?.session?.kernel?.status === "idle";
}"""


class NotebookPage:
    """A notebook that is open in a browser."""

    def __init__(self, page: Page, url: str, name: str) -> None:
        self.page = page
        page.goto(f"{url}/lab/tree/{name}")
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        page.wait_for_function(_IS_READY)

    def run(self, number: int) -> Locator:
        """Run a cell, by its number from 1, and wait until it has run; returns its outputs."""
        outputs = self.begin(number)
        self.wait_for_end(number)
        return outputs

    def begin(self, number: int) -> Locator:
        """Begin to run a cell; returns its outputs."""
        cell = self.find_cell(number)
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")
        return cell.locator(".jp-OutputArea")

    def wait_for_end(self, number: int) -> None:
        """Wait until a cell has run."""
        self.find_cell(number).locator(".jp-InputPrompt", has_text=f"[{number}]:").wait_for()

    def save(self) -> None:
        """Save the notebook, and wait until it is."""
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("Control+s")
        self.page.wait_for_selector(".jp-mod-dirty", state="detached")

    def find_cell(self, number: int) -> Locator:
        """Find a cell by its number from 1."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(number - 1)
