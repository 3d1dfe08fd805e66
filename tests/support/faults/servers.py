"""Servers that the fork server starts: the real `attestlab serve`, quick to start again after each kill."""

from __future__ import annotations

from pathlib import Path

from support.fork_server import ForkServer
from support.installations import install
from support.server_process import ServerProcess


class ForkedServer(ServerProcess):
    """A `ServerProcess` of a given fork server, of which several may share one installation."""

    def __init__(self, fork_server: ForkServer, data: Path, database_url: str, made: dict[str, str]) -> None:
        super().__init__(data, database_url, made)
        self.fork_server = fork_server

    @classmethod
    def founded(cls, fork_server: ForkServer, data: Path, database_url: str) -> ForkedServer:
        """A fresh installation, without a running server yet."""
        return cls(fork_server, data, database_url, install(data, database_url))

    def another(self, database_url: str | None = None) -> ForkedServer:
        """A further server of the same data folder, on the same records or others."""
        return ForkedServer(self.fork_server, self.data, database_url or self.database_url, self.made)

    def workers(self) -> list[int]:
        """The processes that serve where `--workers` asked for several."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in children.read_text().split()]
