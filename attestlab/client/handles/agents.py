"""Agents: what they may do, for whom and until when, and the verbs that change, use and stop them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Unpack
from uuid import UUID

from attestlab.agents.shapes import (
    AgentKeyOut,
    AgentKillOut,
    AgentOut,
)
from attestlab.client import agent_cards, arguments
from attestlab.client.analysis.listing import Listing
from attestlab.client.analysis.records import Records
from attestlab.client.arguments import When
from attestlab.client.handles.agent_arguments import AgentChanges, name_child, prepare_agent, read_agent_id
from attestlab.client.handles.agent_keys import (
    AGENTS,
    AgentKeyRotationHandle,
    AgentStatementHandle,
    prove_key,
    sign_statement,
)
from attestlab.client.handles.agent_oversight import (
    AgentCard,
    AgentTreeHandle,
    fetch_card,
    fetch_tree,
    sign_own_card,
)
from attestlab.client.handles.agent_sessions import AgentSessionOptions, AgentTokensHandle, open_session
from attestlab.client.handles.agent_trust import (
    AgentTrustChangeHandle,
    AgentTrustHandle,
    fetch_trust,
    list_trust_changes,
)
from attestlab.client.handles.base import Handle
from attestlab.client.handles.delegations import DelegationHandle, delegate
from attestlab.client.own_keys import OwnKey
from attestlab.client.service_client import ServiceClient, path_of


class AgentKillHandle(AgentKillOut, Handle):
    """What a kill ended, or with a dry run would end."""

    shown_fields: ClassVar = ("revoked_descendants", "terminated_sessions", "revoked_delegations", "dry_run")

    def _repr_html_(self) -> str:
        return agent_cards.draw_kill(self)


class AgentHandle(AgentOut, Handle):
    """A machine agent, as it was when it was read; `keys` are its newest five."""

    shown_fields: ClassVar = ("display_name", "agent_type", "status", "effective_scopes", "id")

    keys: Records[AgentKeyOut]

    def _repr_html_(self) -> str:
        return agent_cards.draw_agent(self)

    def reload(self) -> AgentHandle:
        """Read the agent again.

        Returns:
            The agent as it is now.

        >>> agent = lab.agents.register("Porter")
        >>> suspended = agent.suspend("at lunch")
        >>> agent.status, agent.reload().status
        ('active', 'suspended')
        """
        return find_agent(self._client, self.id)

    def update(self, **changes: Unpack[AgentChanges]) -> AgentHandle:
        """Change the agent; `lab.agents.update` explains the arguments and errors.

        >>> lab.agents.register("Runner", scopes=["docs:*"]).update(scopes=["docs:read"]).effective_scopes
        ['docs:read']
        """
        return update_agent(self._client, self.id, changes)

    def delegate(
        self,
        child: AgentLike | Mapping[str, object],
        scopes: Iterable[str],
        *,
        expires_at: When | None = None,
        key: OwnKey | None = None,
    ) -> DelegationHandle:
        """Delegate some of what the agent may do to another agent, or to a new one.

        Args:
            child: an agent, its UUID or maip id; or the parts of a new one, such as `{"display_name": "Reader"}`.
            scopes: such as `docs:read` or `docs:*`, after `!` what the child may never do.
            expires_at: its end; by default the earliest of 30 days and the ends of what it comes from.
            key: the agent's own key, if its holder keeps it; then the child must exist.

        Returns:
            The delegation with the chain that proves it; `child` is the agent that received it.

        Raises:
            PermissionDenied: the agent may not do what it would delegate.
            Conflict: the child has a parent already, is above the agent, or would be deeper than 8.
            NotFound: the tenant has no such active agents.
            ValidationFailed: an argument is not acceptable, or `key` is missing.

        >>> planner = lab.agents.register("Planner", scopes=["docs:*", "!docs:delete"])
        >>> made = planner.delegate({"display_name": "Page reader"}, ["docs:read"])
        >>> made.scopes, made.denied_scopes, made.verify("docs:read").verdict
        (['docs:read'], ['docs:delete'], 'VALID')
        """
        return delegate(self._client, self.id, name_child(child), scopes, expires_at, key)

    def delegations(self, direction: str | None = None) -> Listing[DelegationHandle]:
        """List the delegations that the agent gave or received, newest first.

        Args:
            direction: `given` or `received`; both by default.

        Returns:
            The delegations, which are read page by page when they are wanted.

        Raises:
            ValidationFailed: there is no such direction; when they are read.

        >>> editor = lab.agents.register("Editor", scopes=["docs:*"])
        >>> made = editor.delegate({"display_name": "Proof reader"}, ["docs:read"])
        >>> [each.child.display_name for each in editor.delegations("given")]
        ['Proof reader']
        """
        path, asked = f"{AGENTS}{path_of(self.id, 'delegations')}", {"direction": direction}
        client = self._client
        return Listing(
            "delegation",
            DelegationHandle,
            lambda: (DelegationHandle.parse(client, each) for each in client.iterate(path, asked)),
        )

    def session(
        self,
        scopes: Iterable[str] | None = None,
        minutes: int = 60,
        *,
        key: OwnKey | None = None,
        **options: Unpack[AgentSessionOptions],
    ) -> AgentTokensHandle:
        """Open a session of the agent.

        Args:
            scopes: what it may do, within what the agent may; by default all of that.
            minutes: how long its token lives, 1 to 1,440.
            key: the agent's own key; its signed assertion opens the session in place of the lab's credential.
            options: `audience`, the servers that its token is for; `on_behalf_of=True` if the agent acts for the
                person who signed in (`lab.as_`), within their rights; `metadata`.

        Returns:
            The session with its tokens, which are shown once; `lab.as_(session)` acts as the agent.

        Raises:
            PermissionDenied: the lab's credential may not give these scopes.
            Conflict: the agent is not active, or has too many open sessions.
            AuthInvalid: `key` is not the agent's present key.
            ValidationFailed: an argument is not acceptable.

        >>> agent = lab.agents.register("Clerk", scopes=["docs:*"])
        >>> agent.session(["docs:read"], 5).scopes
        ['docs:read']
        """
        return open_session(self._client, self.id, scopes, minutes, key, options)

    def trust(self) -> AgentTrustHandle:
        """Read the trust score of the agent as it is now, with all that explains it.

        Returns:
            `score`, all five `components` with value, weight, evidence, contribution and a sentence, the `penalties`
            of risk signals, and the parent's `cap`.

        >>> agent = lab.agents.register("Novice")
        >>> agent.trust().score, [part.name for part in agent.trust().components if part.evidence == 0]
        (0.5, ['compliance', 'success', 'witness'])
        """
        return fetch_trust(self._client, self.id)

    def trust_history(self, *, since: When | None = None, until: When | None = None) -> Listing[AgentTrustChangeHandle]:
        """List the changes of the agent's trust score with their causes, newest first.

        Args:
            since: only changes at or after this time.
            until: only changes before it.

        Returns:
            The changes, which are read page by page when they are wanted; the oldest is the first evidence.

        Raises:
            ValidationFailed: a time has no offset, or `since` is after `until`.

        >>> agent = lab.agents.register("Examined")
        >>> check = lab.compliance.check(agent)
        >>> [(each.cause, each.reference == check.check_id) for each in agent.trust_history()]
        [('compliance', True)]
        """
        return list_trust_changes(self._client, self.id, since, until)

    def sign(self, payload: Mapping[str, object], *, key: OwnKey | None = None) -> AgentStatementHandle:
        """Sign a statement of the agent, a JWT of the type `agent-statement+jwt`.

        Args:
            payload: what the agent states, at most 16 KB.
            key: the agent's own key, if its holder keeps it; it signs in this process.

        Returns:
            The statement (`jws`) and the key that signed it (`kid`).

        Raises:
            Conflict: the agent is not active.
            ValidationFailed: the payload is too large or no object, or `key` is missing.

        >>> agent = lab.agents.register("Notary")
        >>> agent.sign({"seen": "page 7"}).kid == agent.key_id
        True
        """
        return sign_statement(self._client, self.id, payload, key)

    def signed_card(self) -> AgentCard:
        """Fetch the agent's card, which `lab.agents.card` explains.

        Returns:
            The card; the member `card` is only what was registered for it.

        >>> lab.agents.register("Herald", scopes=["news:read"]).signed_card()["name"]
        'Herald'
        """
        return fetch_card(self._client, self.id)

    def sign_card(self, key: OwnKey) -> AgentCard:
        """Sign the agent's present card with its own key; sign again when the card or the key changes.

        Args:
            key: the agent's own key, which only its holder has; it signs in this process.

        Returns:
            The card with the signature.

        Raises:
            Conflict: the agent is not active.
            ValidationFailed: the service holds the agent's key, or `key` is not the agent's present one.

        >>> import attestlab
        >>> own = attestlab.OwnKey.generate()
        >>> len(lab.agents.register("Card holder", key=own).sign_card(own)["signatures"])
        1
        """
        return sign_own_card(self._client, self.id, self.key_id, key)

    def tree(self) -> AgentTreeHandle:
        """Fetch the agents above and below this one, and what each may do now.

        Returns:
            `nodes`, each after its parent and the root first, and `edges`, the delegations between them; at most 10,000
            agents, and `truncated` says whether there are more.

        Raises:
            PermissionDenied: the lab's credential lacks `agents:read`.

        >>> chief = lab.agents.register("Chief", scopes=["docs:*"])
        >>> made = chief.delegate({"display_name": "Assistant"}, ["docs:read"])
        >>> [(node.display_name, node.effective_scopes) for node in chief.tree().nodes]
        [('Chief', ['docs:*']), ('Assistant', ['docs:read'])]
        """
        return fetch_tree(self._client, self.id)

    def rotate(self, key: OwnKey | None = None) -> AgentKeyRotationHandle:
        """Replace the agent's key; what the old one signed stays valid.

        Args:
            key: a new key of the agent's own; by default the service makes one and holds it.

        Returns:
            Both keys: `old_key`, which signs no more, and `new_key`.

        Raises:
            Conflict: the agent is revoked, or an agent of the tenant has this key already.

        >>> agent = lab.agents.register("Locksmith")
        >>> agent.rotate().old_kid == agent.key_id
        True
        """
        body = None if key is None else prove_key(self._client, key)
        answer = self._client.post(f"{AGENTS}{path_of(self.id, 'keys', 'rotate')}", body)
        return AgentKeyRotationHandle.parse(self._client, answer)

    def suspend(self, reason: str) -> AgentHandle:
        """Suspend the agent: its sessions end, and it opens no other until it is resumed.

        Args:
            reason: for people and the audit trail, 1 to 1,000 characters.

        Returns:
            The agent as it is then.

        Raises:
            Conflict: it is not active.

        >>> lab.agents.register("Sleeper").suspend("over night").status
        'suspended'
        """
        return change_status(self._client, self.id, "suspend", reason)

    def resume(self, reason: str) -> AgentHandle:
        """Resume the suspended agent, whose sessions stay ended.

        Args:
            reason: for people and the audit trail, 1 to 1,000 characters.

        Returns:
            The agent as it is then.

        Raises:
            Conflict: it is not suspended, or its key is reported as compromised; rotate the key first.

        >>> lab.agents.register("Riser").suspend("over night").resume("morning").status
        'active'
        """
        return change_status(self._client, self.id, "resume", reason)

    def revoke(self, reason: str) -> AgentHandle:
        """Revoke the agent for good; the agents below it stay.

        Args:
            reason: for people and the audit trail, 1 to 1,000 characters.

        Returns:
            The agent as it is then.

        Raises:
            Conflict: it is revoked already.

        >>> lab.agents.register("Leaver").revoke("replaced").status
        'revoked'
        """
        return change_status(self._client, self.id, "revoke", reason)

    def kill(self, reason: str | None = None, *, dry_run: bool = False, cascade: bool = True) -> AgentKillHandle:
        """Revoke the agent and all below it; `lab.agents.kill` explains the arguments and errors.

        >>> boss = lab.agents.register("Boss", scopes=["docs:*"])
        >>> made = boss.delegate({"display_name": "Helper"}, ["docs:read"])
        >>> boss.kill(dry_run=True).revoked_descendants, boss.reload().status
        (1, 'active')
        >>> boss.kill("it misbehaves").revoked_descendants, lab.agents[made.child.id].status
        (1, 'revoked')
        """
        return kill_agent(self._client, self.id, reason, dry_run=dry_run, cascade=cascade)


AgentLike = UUID | str | AgentHandle


def find_agent(client: ServiceClient, what: object) -> AgentHandle:
    """Find an agent."""
    return AgentHandle.parse(client, client.get(f"{AGENTS}{path_of(read_agent_id(what))}"))


def register_agent(client: ServiceClient, body: Mapping[str, object], key: OwnKey | None) -> AgentHandle:
    """Register an agent, with a key that the service makes or its own."""
    sent = prepare_agent(body)
    if key is not None:
        sent |= prove_key(client, key)
    return AgentHandle.parse(client, client.post(AGENTS, sent))


def update_agent(client: ServiceClient, agent_id: UUID | str, changes: Mapping[str, object]) -> AgentHandle:
    """Change an agent."""
    return AgentHandle.parse(client, client.patch(f"{AGENTS}{path_of(agent_id)}", prepare_agent(changes)))


def change_status(client: ServiceClient, agent_id: UUID | str, verb: str, reason: str) -> AgentHandle:
    """Suspend, resume or revoke an agent."""
    body = {"reason": arguments.read_text(reason, name="reason")}
    return AgentHandle.parse(client, client.post(f"{AGENTS}{path_of(agent_id, verb)}", body))


def kill_agent(
    client: ServiceClient, agent_id: UUID | str, reason: str | None, *, dry_run: bool, cascade: bool
) -> AgentKillHandle:
    """Revoke an agent and all below it, or count what that would end; only a dry run needs no reason."""
    why = "dry run" if reason is None and dry_run is True else reason
    body = {"reason": arguments.read_text(why, name="reason"), "dry_run": dry_run, "cascade": cascade}
    return AgentKillHandle.parse(client, client.post(f"{AGENTS}{path_of(agent_id, 'kill')}", body))
