"""A published log on a web server, and a follower of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from attestlab.core.clock import FixedClock
from attestlab.log.follower.follower import Alarm, AlarmName, Follower, VerifiedEntry
from attestlab.log.follower.http_log import HttpLog
from attestlab.log.follower.state import FollowerState
from attestlab.log.note.trust_policy import TrustPolicy
from support.witnesses import make_log_signer

LOG_VKEY = str(make_log_signer().vkey)


class PublishedLog:
    """A published log on a web server, and a follower of it."""

    def __init__(self, folder: Path, url: str, clock: FixedClock) -> None:
        self.folder, self.url, self.clock = folder / "public", url, clock
        self.state = folder / "state.json"
        self.taken: list[bytes] = []

    def follow(
        self, *, vkey: str = LOG_VKEY, max_age_s: float | None = None, policy: str | None = None
    ) -> FollowerState:
        """One look by a follower who knows only what it saved."""
        witnesses = None if policy is None else TrustPolicy.for_log(policy, vkey)
        source = HttpLog(self.url)
        try:
            follower = Follower(source, vkey, self.state, clock=self.clock, witnesses=witnesses, max_age_s=max_age_s)
            return follower.advance(self.take)
        finally:
            source.close()

    def take(self, seen: Sequence[VerifiedEntry]) -> None:
        assert [item.index for item in seen] == list(range(len(self.taken), len(self.taken) + len(seen)))
        self.taken += [item.entry for item in seen]

    def alarm(self, name: AlarmName, **options: object) -> Alarm:
        """The alarm that the next look raises; what was saved stays as it was."""
        before = self.state.read_bytes() if self.state.exists() else None
        with pytest.raises(Alarm) as raised:
            self.follow(**options)  # type: ignore[arg-type]
        assert raised.value.name is name, raised.value.message
        assert (self.state.read_bytes() if self.state.exists() else None) == before
        return raised.value
