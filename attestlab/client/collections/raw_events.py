"""Raw events, as verbs of `lab.signals`: what they become by the tenant's mapping, and the mapping."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attestlab.client import arguments
from attestlab.client.arguments import When
from attestlab.client.collections.base import DatasetCollection
from attestlab.client.handles.risk import (
    MappingHandle,
    NormalizationHandle,
    NormalizedHandle,
    SignalHandle,
    compose_facts,
)
from attestlab.client.progress import show_progress


class RawEventVerbs(DatasetCollection[SignalHandle]):
    """The verbs of raw events and their mapping."""

    def record_event(
        self,
        event_type: str,
        entity: object,
        entity_id: str | None = None,
        *,
        data: Mapping[str, object] | None = None,
        occurred_at: When | None = None,
    ) -> NormalizedHandle:
        """Record a raw event, which becomes a signal by the tenant's mapping.

        Args:
            event_type: dotted words, such as `login.failed.repeated`.
            entity: as for `add`, with `entity_id` where it is a type.
            data: further facts.
            occurred_at: by default now; never in the future.

        Returns:
            The signal, and whether the mapping knows the event's type (`normalized`).

        Raises:
            ValidationFailed: an argument is not acceptable; the message names the limit.

        >>> lab.signals.record_event("login.failed.repeated", "user:u-1").normalized
        True
        """
        body = compose_facts(entity, entity_id, occurred_at, event_type=event_type)
        body |= {"data": arguments.read_mapping(data, name="data")} if data else {}
        return NormalizedHandle.parse(self._client, self._client.post("/v1/risk/events", body))

    def mapping(self) -> MappingHandle:
        """Return the tenant's mapping: the signal that raw events of each type become.

        >>> lab.signals.mapping().items.df().columns.to_list()
        ['event_type', 'signal_type', 'score']
        """
        return MappingHandle.parse(self._client, self._client.get("/v1/risk/mappings"))

    def change_mapping(self, items: Iterable[Mapping[str, object]] | MappingHandle) -> MappingHandle:
        """Replace the mapping by its next version; `normalize` applies it to earlier events.

        Args:
            items: all of them, each `{"event_type": ..., "signal_type": ..., "score": ...}` with a score from 0 to 100;
                types that are left out become `behavior` with score 10. An earlier mapping works, too.

        Returns:
            The new version with its items.

        Raises:
            ValidationFailed: an item is not of this form, or two have one event type.
            PermissionDenied: the caller may not write risk.

        >>> before = lab.signals.mapping()
        >>> lab.signals.change_mapping(before).version - before.version
        1
        """
        given = items.to_dict()["items"] if isinstance(items, MappingHandle) else items
        listed = [
            arguments.read_mapping(item, name=f"items[{number}]")
            for number, item in enumerate(arguments.iterate(given, name="items", of="dicts"))
        ]
        return MappingHandle.parse(self._client, self._client.put("/v1/risk/mappings", {"items": listed}))

    def normalize(self, *, since: When | None = None, until: When | None = None) -> NormalizationHandle:
        """Normalize raw events again by the mapping of now; an event whose result changed becomes another signal.

        Args:
            since: of the first event, by its time; all by default.
            until: of the first event that is left out.

        Returns:
            How many events were read, and how many became another signal.

        Raises:
            ValidationFailed: a time has no offset, or `since` is after `until`.
            PermissionDenied: the caller may not write risk.

        >>> lab.signals.normalize(since="2020-01-01", until="2020-01-02")
        Normalization(events=0, changed=0)
        """
        period = arguments.read_period(since, until)
        body = {name: time for name, time in period.items() if time is not None}
        with show_progress("Normalizing events"):
            return NormalizationHandle.parse(self._client, self._client.post("/v1/risk/events/normalize", body))
