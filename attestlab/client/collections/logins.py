"""Logins, as verbs of `lab.signals`: their scores, a past of them, and how well the detection finds attacks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import tzinfo
from typing import TYPE_CHECKING

from attestlab.client import arguments
from attestlab.client.analysis.login_judgement import judge_logins, read_columns, read_costs
from attestlab.client.arguments import When
from attestlab.client.collections.base import DatasetCollection
from attestlab.client.collections.bulk_signals import backfill_logins
from attestlab.client.handles.login_judgement import LoginJudgementHandle
from attestlab.client.handles.risk import LoginBackfillHandle, LoginHandle, SignalHandle

if TYPE_CHECKING:
    from attestlab.client.collections.signal_rows import BulkRows


class LoginVerbs(DatasetCollection[SignalHandle]):
    """The verbs of logins."""

    def evaluate_login(
        self, subject_id: str, outcome: str, *, occurred_at: When | None = None, **circumstances: str
    ) -> LoginHandle:
        """Score a login; `outcome` is `success` or `failure`.

        Args:
            circumstances: `ip`, `device_id`, `country`, `user_agent`, as far as they are known.
            subject_id: who signs in, 1 to 256 characters.
            occurred_at: by default now; never in the future, nor too old to be compared.

        Returns:
            The score from 0 to 100, its level in a word, and the factors that sum to it.

        Raises:
            ValidationFailed: an argument is not acceptable; the message names the limit.

        >>> lab.signals.evaluate_login("u-1", "failure", ip="192.0.2.1", country="GB").level
        'normal'
        """
        at = arguments.read_time(occurred_at, name="occurred_at")
        body = {"subject_id": subject_id, "outcome": outcome, **circumstances} | ({"occurred_at": at} if at else {})
        return LoginHandle.parse(self._client, self._client.post("/v1/risk/ato/evaluate", body))

    def backfill_logins(
        self, logins: BulkRows, *, strict: bool = False, tz: str | tzinfo | None = None
    ) -> LoginBackfillHandle:
        """Load logins of the past, in any order, and return when the service has learnt them.

        No signal, event or case comes of them; later logins are scored as if these had been sent as they happened. A
        login that is sent again within a day counts once, so the same call continues one that was interrupted.

        Args:
            logins: what `add_many` takes. Columns are the members: `subject_id`, `outcome` (`success` or `failure`),
                `occurred_at` (of the last five years), and optionally `ip`, `device_id`, `country` and `user_agent`.
            strict: True to send nothing if a row is no login; all rows are in memory then.
            tz: the zone of times without a UTC offset, such as `Europe/Zurich`. Without it, such rows are rejected.

        Returns:
            How many rows were accepted and rejected, and how many logins of the tenant's past are learnt, each once.

        Raises:
            ValidationFailed: `logins` has no rows of this form, or with `strict` a row is no login.
            PermissionDenied: the caller may not write risk, or may not read how much is learnt.

        >>> at_home = {"subject_id": "u-6", "outcome": "success", "ip": "192.0.2.6", "device_id": "laptop"}
        >>> lab.signals.backfill_logins({**at_home, "occurred_at": f"2026-0{month}-01T08:00:00Z"} for month in (2, 1))
        LoginBackfill(2 accepted, 0 rejected, 2 learnt)
        """
        return backfill_logins(self._client, logins, strict=strict, tz=tz)

    def judge_logins(
        self,
        logins: BulkRows,
        labels: str | None = None,
        *,
        campaigns: str | None = None,
        innocent: Iterable[str] = (),
        missed_attack: float = 10.0,
        false_alarm: float = 1.0,
        tz: str | tzinfo | None = None,
    ) -> LoginJudgementHandle:
        """Measure the detection, and plain baselines, on labelled logins of your own; the service learns nothing.

        Args:
            logins: as for `backfill_logins`, in any order, of any age.
            labels: the column with the kind of each login. No label, and `legitimate`, `benign`, `normal` and the like
                are no attack. Without it, logins with a signal in a case have the outcome of the case.
            campaigns: the column with the campaign of an attack; else, those of one kind and day are one.
            innocent: further labels that are no attack.
            missed_attack: what a missed login of an attack costs, in any unit; `false_alarm` the same for an innocent.
            tz: the zone of times without a UTC offset, as for `backfill_logins`.

        Returns:
            How well the detection and each baseline find the attacks (`detectors`), by kind and by threshold.

        Raises:
            ValidationFailed: `logins` has no rows of this form, or only attacks, or none.
            MissingExtra: numpy or the table of addresses is not installed.

        >>> home = {"subject_id": "u-7", "outcome": "success", "ip": "192.0.2.7", "occurred_at": "2026-01-02T08:00:00Z"}
        >>> bad = {**home, "ip": "198.51.100.9", "occurred_at": "2026-01-03T08:00:00Z", "kind": "takeover"}
        >>> lab.signals.judge_logins([home, bad], labels="kind").kinds.df()["kind"].to_list()
        ['no label', 'takeover']
        """
        columns, costs = read_columns(labels, campaigns, innocent), read_costs(missed_attack, false_alarm)
        return judge_logins(self._client, logins, columns, costs, tz)
