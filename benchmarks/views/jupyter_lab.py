"""A real JupyterLab on a folder of notebooks: its server, and when a notebook that it shows has its kernel.

The tests use it, too (`tests/support/jupyter_lab.py`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import nbformat

START_TIMEOUT_S: Final = 120  # on a busy machine
QUIET: Final = (
    "--ServerApp.ip=127.0.0.1",
    "--IdentityProvider.token=",
    "--LabApp.expose_app_in_browser=True",
    "--JupyterNotebookApp.expose_app_in_browser=True",
    "--LabApp.news_url=None",
    "--LabApp.extension_manager=readonly",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    f"--LabApp.app_settings_dir={Path(__file__).parents[2] / 'notebooks' / 'settings'}",
)
# What is run before the notebook has its kernel is lost, so its state is that of the application, not of an icon.
HAS_KERNEL: Final = """(name) => {
  const { context, sessionContext } = globalThis.jupyterapp?.shell.currentWidget ?? {};
  return context?.isReady && context.path === name && sessionContext?.session?.kernel?.status === "idle";
}"""


@contextmanager
def run_jupyter_lab(folder: Path, *options: str, port: int = 0) -> Iterator[str]:
    """Serve the notebooks of a folder; yields the address of the server, which remembers nothing of other folders.

    By default the system chooses the port.

    Raises:
        RuntimeError: the server ended, or was not ready in time.
    """
    own = {f"JUPYTER_{name}_DIR": str(folder / f".{name.lower()}") for name in ("CONFIG", "DATA", "RUNTIME")}
    command = (sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}")
    with (folder / ".log").open("w") as log:
        process = subprocess.Popen(
            [*command, f"--notebook-dir={folder}", *QUIET, *options], env={**os.environ, **own}, stdout=log, stderr=log
        )
    try:
        yield _wait_for_address(folder, process)
    finally:
        process.terminate()
        process.wait()


def _wait_for_address(folder: Path, process: subprocess.Popen[bytes]) -> str:
    """Return the address that the server writes into its folder once it listens."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline:
        for path in (folder / ".runtime").glob("jpserver-*.json"):
            with suppress(ValueError):  # a part of the file is written
                return str(json.loads(path.read_text())["url"]).rstrip("/")
        time.sleep(0.1)
    end = "ended" if process.poll() is not None else f"was not ready after {START_TIMEOUT_S} s"
    raise RuntimeError(f"JupyterLab {end}; the end of its log: {(folder / '.log').read_text()[-1_000:]}")


def write_notebook(path: Path, cells: Sequence[str]) -> None:
    """Write a notebook of code cells."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])  # type: ignore[no-untyped-call]
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call]
