"""How far a follower of a log came: a small file that is replaced as a whole."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from attestlab.core import folders
from attestlab.core.errors import ValidationFailed
from attestlab.log.rules import EMPTY_ROOT
from attestlab.log.standing import Standings

VERSION = 2
UNJUDGED = 1  # a version that knew no status lists; its entries are read once more, from the first


@dataclass(frozen=True)
class Followed:
    """How far a follower came: the tree whose entries were all handed over, and what it knows from them.

    `standings` are those after the first `judged` entries; fewer than `size` where an earlier version saved it.
    `checkpoint` is the newest note that it accepted, `at_s` the newest time that one states (seconds since 1970).
    """

    vkey: str
    size: int = 0
    judged: int = 0
    root: bytes = EMPTY_ROOT
    checkpoint: str = ""
    at_s: int = 0
    standings: Standings = field(default_factory=Standings, compare=False)  # follows from the tree

    @classmethod
    def load(cls, path: Path, vkey: str) -> Followed:
        """What was saved; the beginning, where nothing was.

        Raises:
            ValidationFailed: the file is not ours, or is about a log with another key.
        """
        try:
            saved = json.loads(path.read_bytes())
        except FileNotFoundError:
            return cls(vkey)
        except ValueError as fault:
            raise ValidationFailed(f"{path} is not the state of a follower: {fault}.") from fault
        if not isinstance(saved, dict) or saved.get("v") not in (UNJUDGED, VERSION) or saved.get("vkey") != vkey:
            raise ValidationFailed(f"{path} belongs to another log or version; name another file.")
        judged, standings = 0, Standings()
        if saved["v"] != UNJUDGED:
            judged, standings = saved["judged"], Standings.from_json(saved["standings"])
        root = bytes.fromhex(saved["root"])
        return cls(vkey, saved["size"], judged, root, saved["checkpoint"], saved["at_s"], standings)

    def save(self, path: Path) -> None:
        """Replace the file as a whole; durable when this returns."""
        saved = {
            "v": VERSION,
            "vkey": self.vkey,
            "size": self.size,
            "judged": self.judged,
            "root": self.root.hex(),
            "checkpoint": self.checkpoint,
            "at_s": self.at_s,
            "standings": self.standings.as_json(),
        }
        with folders.whole(path) as file:
            file.write(json.dumps(saved).encode())
        folders.sync(path.parent)
