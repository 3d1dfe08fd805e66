"""`lab.agents`: the machine agents of the tenant, whom a person registers, bounds, watches and stops."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

from attestlab.agents.oversight.shapes import AgentReviewQuery
from attestlab.agents.shapes import AgentsQuery
from attestlab.client import arguments
from attestlab.client.analysis.listing import Listing
from attestlab.client.analysis.records import Records
from attestlab.client.arguments import When
from attestlab.client.collections.agent_events import AgentEventVerbs
from attestlab.client.collections.filters import AgentFilterArgs, AgentReviewFilterArgs, read_filters
from attestlab.client.exploring import LiveView, explore
from attestlab.client.handles.agent_arguments import AgentChanges, AgentOptions, read_agent_id
from attestlab.client.handles.agent_keys import AGENTS, AgentKeyHandle
from attestlab.client.handles.agent_oversight import (
    AgentCard,
    AgentReviewHandle,
    AgentSettingsHandle,
    fetch_card,
    iterate_review,
)
from attestlab.client.handles.agents import (
    AgentHandle,
    AgentKillHandle,
    AgentLike,
    find_agent,
    kill_agent,
    register_agent,
    update_agent,
)
from attestlab.client.own_examples import name_in_examples
from attestlab.client.own_keys import OwnKey
from attestlab.client.service_client import ServiceClient, path_of


@name_in_examples("agents")
class AgentCollection(AgentEventVerbs):
    """The tenant's machine agents, newest first; `lab.agents[id]` takes a UUID or a maip id."""

    noun = "an agent"
    path = AGENTS
    query = AgentsQuery
    dataset = "agents"

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, AgentHandle)

    def explore(self, **state: object) -> LiveView:
        """Show the page of agents in a cell: what is clicked in it is data for the next cell.

        Args:
            state: what the page shows at first, such as `status="active"` (`Lab.explore`).

        Returns:
            The view: its `state`, `rows`, `sql`, `python`, `set`, `save` and panes, as `Lab.explore` explains.

        Raises:
            MissingExtra: a package of the extra `notebook` is not installed.
            ValidationFailed: the page has no such parameter or value; the message names those that it has.

        >>> lab.agents.explore(status="active")
        lab.explore("agents", status="active")
        """
        return explore(self._client, "agents", state)

    def list(self, *, limit: int | None = None, **filters: Unpack[AgentFilterArgs]) -> Listing[AgentHandle]:
        """List the agents that match all filters, newest first.

        Args:
            limit: how many at most; all by default.
            filters: such as `status="active"`, `agent_type="worker"`, `parent_agent_id`, `owner_user_id`, or `q`, a
                text in name or description. None is no filter.

        Returns:
            The agents, which are read page by page when they are wanted.

        Raises:
            ValidationFailed: there is no such filter, or it does not take this value; the message names the limit.

        >>> agent = lab.agents.register("Invoice reader", agent_type="llm", scopes=["invoices:read"])
        >>> [each.display_name for each in lab.agents.list(agent_type="llm", q="invoice")]
        ['Invoice reader']
        """
        return self._list(limit, filters)

    def register(
        self,
        display_name: str,
        *,
        scopes: Iterable[str] = (),
        key: OwnKey | None = None,
        **options: Unpack[AgentOptions],
    ) -> AgentHandle:
        """Register an agent.

        Args:
            display_name: its name, one line of 1 to 256 characters.
            scopes: what it may do, `resource:action` or `resource:*`, after `!` what it may never do; at most 64.
            key: a key that its holder keeps; by default the service makes the key and signs for the agent.
            options: `agent_type` (`worker` by default), `description`, `metadata`, `expires_at`, `owner_user_id`,
                which is the person who registers it by default, and `card`.

        Returns:
            The agent, whose key is in the log.

        Raises:
            PermissionDenied: a scope is one of the service that the caller lacks.
            QuotaExceeded: the tenant has as many agents as its plan allows.
            NotFound: the tenant has no such owner.
            ValidationFailed: an argument is not acceptable; the message names the limit.

        >>> agent = lab.agents.register("Order desk", scopes=["orders:*", "!orders:delete"])
        >>> agent.status, agent.effective_scopes
        ('active', ['orders:*', '!orders:delete'])
        >>> import attestlab
        >>> own = lab.agents.register("Key holder", key=attestlab.OwnKey.generate())
        >>> own.custody
        'external'
        """
        named = {name: value for name, value in options.items() if value is not None}
        asked = arguments.read_texts(scopes, name="scopes")
        name = arguments.read_text(display_name, name="display_name")
        return register_agent(self._client, {**named, "display_name": name, "scopes": asked}, key)

    def update(self, agent: AgentLike, **changes: Unpack[AgentChanges]) -> AgentHandle:
        """Change an agent; narrower scopes hold for the next request of its sessions and of all agents below it.

        Args:
            agent: the agent, its UUID or its maip id.
            changes: what is left out stays as it is; None removes `expires_at`, `owner_user_id` or `card`.

        Returns:
            The agent as it is then.

        Raises:
            NotFound: the tenant has no such agent.
            Conflict: it is revoked, or its parent may do less.
            ValidationFailed: there is no such change, or it does not take this value.

        >>> agent = lab.agents.register("Mail desk", scopes=["mail:*"])
        >>> lab.agents.update(agent, scopes=["mail:read"], description="It answers.").scopes
        ['mail:read']
        """
        return update_agent(self._client, read_agent_id(agent), changes)

    def keys(self, agent: AgentLike) -> Records[AgentKeyHandle]:
        """List all keys that an agent ever had, newest first.

        Args:
            agent: the agent, its UUID or its maip id.

        Returns:
            The keys with their entries of the log; `.df()` has a row for each.

        Raises:
            NotFound: the tenant has no such agent.

        >>> agent = lab.agents.register("Key ring")
        >>> rotated = agent.rotate()
        >>> [key.status for key in lab.agents.keys(agent)]
        ['active', 'rotated']
        """
        answers = self._client.iterate(f"{self.path}{path_of(read_agent_id(agent), 'keys')}")
        return Records((AgentKeyHandle.parse(self._client, answer) for answer in answers), AgentKeyHandle)

    def card(self, agent: AgentLike) -> AgentCard:
        """Fetch the card of an agent, as A2A 1.0 defines it: where it answers, what it can do, and its signature.

        Args:
            agent: the agent, its UUID or its maip id; one of another tenant, if it is discoverable.

        Returns:
            The card. The signature of an agent with its own key is there once its holder signed (`agent.sign_card`).

        Raises:
            NotFound: there is no such agent, or its card is not public.

        >>> agent = lab.agents.register("Town crier", scopes=["news:*"])
        >>> [skill["id"] for skill in lab.agents.card(agent)["skills"]]
        ['news:*']
        """
        return fetch_card(self._client, read_agent_id(agent))

    def review(
        self, *, limit: int | None = None, **filters: Unpack[AgentReviewFilterArgs]
    ) -> Listing[AgentReviewHandle]:
        """List the agents that want a look, newest first; revoked ones are left out.

        Args:
            limit: how many at most; all by default.
            filters: `finding`, such as `"ownerless"`, `agent_type` and `owner_user_id`. None is no filter.

        Returns:
            The agents with their `findings`, which are read page by page when they are wanted.

        Raises:
            ValidationFailed: there is no such filter, or it does not take this value.

        >>> agent = lab.agents.register("Forgotten", scopes=["docs:*"])
        >>> next(each.findings for each in lab.agents.review() if each.agent_id == agent.id)
        ['ownerless', 'no_expiry', 'wildcard']
        """
        asked, client = read_filters(AgentReviewQuery, filters), self._client
        return Listing("agent", AgentReviewHandle, lambda: iterate_review(client, asked), limit=limit)

    def settings(self) -> AgentSettingsHandle:
        """Return the tenant's settings of agents: how many days one may act after its owner left.

        >>> lab.agents.settings().ownerless_grace_days
        7
        """
        return AgentSettingsHandle.parse(self._client, self._client.get(f"{self.path}/settings"))

    def change_settings(self, *, ownerless_grace_days: int) -> AgentSettingsHandle:
        """Change the tenant's settings of agents; they count for owners who left already, too.

        Args:
            ownerless_grace_days: how many days an agent may act after its owner was removed, 0 to 365; then it is
                suspended.

        Returns:
            The settings as they are now.

        Raises:
            ValidationFailed: it is no whole number from 0 to 365.
            PermissionDenied: the caller may not write agents, or is an agent.

        >>> lab.agents.change_settings(ownerless_grace_days=lab.agents.settings().ownerless_grace_days)
        AgentSettings(ownerless_grace_days=7)
        """
        body = {"ownerless_grace_days": ownerless_grace_days}
        return AgentSettingsHandle.parse(self._client, self._client.put(f"{self.path}/settings", body))

    def compromise_key(
        self, agent: AgentLike, kid: str, reason: str, *, compromised_at: When | None = None
    ) -> AgentKeyHandle:
        """Report that others may have a key of an agent; an active agent is suspended at once.

        Args:
            agent: the agent, its UUID or its maip id.
            kid: the id of the key (`agent.key_id`).
            reason: for people and the audit trail, 1 to 1,000 characters.
            compromised_at: since when, in the past; by default now.

        Returns:
            The key as it is now. Rotate it, then resume the agent.

        Raises:
            NotFound: the tenant has no such agent, or the agent no such key.
            Conflict: it is reported already.
            ValidationFailed: `compromised_at` is in the future.

        >>> agent = lab.agents.register("Lost laptop")
        >>> lab.agents.compromise_key(agent, agent.key_id, "laptop stolen").status, agent.reload().status
        ('compromised', 'suspended')
        """
        body: dict[str, object] = {"reason": arguments.read_text(reason, name="reason")}
        since = arguments.read_time(compromised_at, name="compromised_at")
        body |= {} if since is None else {"compromised_at": since}
        path = path_of(read_agent_id(agent), "keys", arguments.read_text(kid, name="kid"), "compromise")
        return AgentKeyHandle.parse(self._client, self._client.post(f"{self.path}{path}", body))

    def kill(
        self, agent: AgentLike, reason: str | None = None, *, dry_run: bool = False, cascade: bool = True
    ) -> AgentKillHandle:
        """Revoke an agent and all below it at once, with their sessions and delegations; look at a dry run first.

        Args:
            agent: the agent, its UUID or its maip id.
            reason: for people and the audit trail, 1 to 1,000 characters; a dry run needs none.
            dry_run: whether to count only, and change nothing.
            cascade: whether the agents below it are revoked with it.

        Returns:
            What ended, or would end: `revoked_descendants`, `terminated_sessions`, `revoked_delegations`.

        Raises:
            NotFound: the tenant has no such agent.
            Conflict: it is revoked already.
            ValidationFailed: the reason is missing.

        >>> agent = lab.agents.register("Night shift", scopes=["docs:*"])
        >>> opened = agent.session()
        >>> lab.agents.kill(agent, dry_run=True).terminated_sessions
        1
        >>> lab.agents.kill(agent, "the night is over").agent.status
        'revoked'
        """
        return kill_agent(self._client, read_agent_id(agent), reason, dry_run=dry_run, cascade=cascade)

    def _find(self, which: object) -> AgentHandle:
        return find_agent(self._client, which)
