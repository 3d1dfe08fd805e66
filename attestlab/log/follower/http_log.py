"""Client of a remote log over HTTP (C2SP tlog-tiles): bounds size and time, and trusts no response unverified."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from attestlab.core.errors import IntegrityFailed, ProofInvalid, Unavailable, ValidationFailed
from attestlab.core.fetching import Fetcher, FetchLimits
from attestlab.core.urls import is_web_address, quote_url
from attestlab.log.merkle.hashing import HASH_BYTES, MAX_ENTRY_BYTES, TILE_BYTES, TILE_WIDTH, TileName
from attestlab.log.merkle.tree import NO_ROWS, TileCache, Tree, TreeReader, append_hashes
from attestlab.log.note.note import MAX_NOTE_CHARS

RESPONSE_TIMEOUT_S = 120.0  # for one response, which may be an entry bundle of 16 MB
CACHED_TILES = 256
MAX_BUNDLE_BYTES = TILE_WIDTH * (2 + MAX_ENTRY_BYTES)
CHECKPOINT = "checkpoint"
WITNESSED = "checkpoint.witnessed"
PREFIXES = ("", "/log")  # the address of the log itself, or of a service that serves its log below /log


class LogSource(Protocol):
    """The source from which a follower reads a log."""

    def checkpoint(self) -> str:
        """The newest checkpoint, a signed note."""
        ...

    def witnessed_checkpoint(self) -> str | None:
        """The newest checkpoint that witnesses cosigned; None if the log has none."""
        ...

    def tile(self, name: TileName) -> bytes:
        """The bytes of a tile or entry bundle."""
        ...


class HttpLog:
    """The log at `url`, which is the prefix of its tiles or the address of an AttestLab service.

    Raises:
        ValidationFailed: `url` is no HTTP address.

    Every method raises `Unavailable` when the log cannot be reached, returns a status other than 200, or exceeds
    the size limit (`core.fetching`).
    """

    def __init__(self, url: str) -> None:
        if not is_web_address(url):
            raise ValidationFailed(f"{quote_url(url)} is no address of a log. Pass one like 'https://log.example.org'.")
        self._url = url.rstrip("/")
        self._fetcher = Fetcher()
        self._prefix: str | None = None  # one of PREFIXES, once a checkpoint was found there

    def close(self) -> None:
        """Close the connections."""
        self._fetcher.close()

    def checkpoint(self) -> str:
        """Fetch the newest checkpoint; the first call detects the prefix of the log."""
        for prefix in PREFIXES if self._prefix is None else (self._prefix,):
            found = self._fetch(f"{prefix}/{CHECKPOINT}", MAX_NOTE_CHARS)
            if found is not None:
                self._prefix = prefix
                return found.decode(errors="replace")
        raise Unavailable(f"There is no log at {self._url}. Give the address below which its checkpoint is served.")

    def witnessed_checkpoint(self) -> str | None:
        """Fetch the newest witnessed checkpoint; None if the log returns 404."""
        if self._prefix is None:
            self.checkpoint()
        found = self._fetch(f"{self._prefix}/{WITNESSED}", MAX_NOTE_CHARS)
        return None if found is None else found.decode(errors="replace")

    def tile(self, name: TileName) -> bytes:
        """Fetch a tile; if a partial tile is gone, the full one, which begins with it (C2SP tlog-tiles)."""
        max_bytes = MAX_BUNDLE_BYTES if name.level is None else TILE_BYTES
        found = self._fetch(f"{self._prefix or ''}/{name.path}", max_bytes)
        if found is None and name.width < TILE_WIDTH:
            found = self._fetch(f"{self._prefix or ''}/{TileName(name.level, name.index).path}", max_bytes)
        if found is None:
            raise Unavailable(f"The log at {self._url} does not serve {name.path}, although its checkpoint implies it.")
        return found

    def _fetch(self, path: str, max_bytes: int) -> bytes | None:
        """Fetch `path`; None for a 404."""
        answer = self._fetcher.fetch(self._url + path, FetchLimits(max_bytes, RESPONSE_TIMEOUT_S))
        if answer.status == 404:
            return None
        if answer.status != 200:
            raise Unavailable(f"{self._url}{path} answers {answer.status}.")
        return answer.body


class RemoteTree:
    """The tree of `size` leaves that `source` serves; untrusted until the caller compares `root` with a signed one.

    The constructor reads the right edge, one tile per level. Other tiles are read on demand, and
    each must have the hash that the tile above it holds.

    Every method, and the constructor, raises `ProofInvalid` for a tile that is too short or contradicts another.
    """

    def __init__(self, source: LogSource, size: int) -> None:
        self._source = source
        self._tree = _read_right_edge(source, size)
        self._cache = TileCache(CACHED_TILES)
        self._reader = self._reader_of(size)

    @property
    def root(self) -> bytes:
        """The root computed from the tiles."""
        return self._reader.root

    def root_at(self, size: int) -> bytes:
        """The root of the first `size` leaves."""
        return self._reader_of(size).root

    def leaf(self, index: int) -> bytes:
        """The hash of a leaf."""
        with _as_invalid_proof():
            return self._reader.node(0, index)

    def _reader_of(self, size: int) -> TreeReader:
        with _as_invalid_proof():
            return TreeReader(self._tree, size, cache=self._cache, fetch=self._full_tile)

    def _full_tile(self, level: int, index: int) -> bytes:
        return self._source.tile(TileName(level, index))


@contextmanager
def _as_invalid_proof() -> Iterator[None]:
    try:
        yield
    except IntegrityFailed as error:
        raise ProofInvalid("The tiles that the log serves contradict each other.") from error


def _read_right_edge(source: LogSource, size: int) -> Tree:
    edge, level, count = [], 0, size
    while count:
        index, width = divmod(count, TILE_WIDTH)
        hashes = source.tile(TileName(level, index, width)) if width else b""
        if len(hashes) < width * HASH_BYTES:
            raise ProofInvalid(f"Tile {level}/{index} has {len(hashes)} bytes instead of {width * HASH_BYTES}.")
        edge.append(append_hashes(NO_ROWS, hashes[: width * HASH_BYTES])[0])
        level, count = level + 1, index
    return Tree(size, tuple(edge))
