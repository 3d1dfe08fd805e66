"""A real marimo for tests: it serves a notebook as an app, which is dark."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.ports import hold_port
from support.started_servers import wait_for_server

_HEAD = """\
# /// script
# [tool.marimo.display]
# theme = "dark"
# ///
import marimo

app = marimo.App(width="medium")
"""


def write_marimo(path: Path, cells: Sequence[str]) -> None:
    """Write a notebook of cells, each the function of a cell with its decorator."""
    parts = [_HEAD, *(f"@app.cell\n{cell}" for cell in cells), 'if __name__ == "__main__":\n    app.run()\n']
    path.write_text("\n\n".join(parts))


@contextmanager
def serve_marimo(path: Path) -> Iterator[str]:
    """Serve a notebook as an app; yields its address. The settings are those of a person who has none."""
    own = {"HOME": str(path.parent), **{f"XDG_{name}_HOME": str(path.parent) for name in ("CONFIG", "STATE", "DATA")}}
    with hold_port() as port, path.with_suffix(".log").open("w") as log:
        command = (sys.executable, "-m", "marimo", "run", str(path), "--headless", "--no-token", f"--port={port}")
        process = subprocess.Popen(command, env={**os.environ, **own}, stdout=log, stderr=log)
        try:
            wait_for_server(f"http://127.0.0.1:{port}/health", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()
