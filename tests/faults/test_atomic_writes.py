"""Atomic writes: a file is synced before it gets its name, and its folder is synced after."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from support.faults import strace

pytestmark = strace.needs_strace

WRITE = """
import sys
from pathlib import Path
from attestlab.core import atomic_files

path = Path(sys.argv[1])
with atomic_files.write_atomically(path) as file:
    file.write(b"whole")
atomic_files.fsync_dir(path.parent)
"""


def test_file_is_synced_before_rename_and_folder_after(tmp_path: Path) -> None:
    log, path = tmp_path / "calls", tmp_path / "folder" / "whole"
    path.parent.mkdir()
    options = ["-f", "-q", *strace.recording_options(log, ("fsync", "rename"))]

    subprocess.run(["strace", *options, sys.executable, "-c", WRITE, str(path)], check=True)

    calls = re.findall(rf"^\d+ +(\w+)\(.*{re.escape(str(path.parent))}", log.read_text(), re.MULTILINE)
    assert calls == ["fsync", "rename", "fsync"]
    assert path.read_bytes() == b"whole"
