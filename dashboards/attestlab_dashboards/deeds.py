"""What the audit trail says was done, in words: the same for an action on every page, with names instead of ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import urlencode

_PAST: Final = {
    **dict.fromkeys(("add", "create", "put"), "added"),
    **dict.fromkeys(("update", "change"), "changed"),
    **{"remove": "removed", "delete": "deleted", "revoke": "revoked", "suspend": "suspended", "resume": "resumed"},
    **{"rotate": "rotated", "compromise": "reported as lost", "expire": "expired", "mint": "minted", "sign": "signed"},
    **{"activate": "activated", "shadow": "ran in shadow", "archive": "archived", "set": "set", "use": "used"},
    **{"open": "opened", "join": "added a signal to", "resolve": "resolved", "reopen": "opened again"},
    **{"label": "made a label of", "assign": "assigned", "redact": "redacted", "kill": "stopped", "invite": "invited"},
    **{"complete": "completed", "publish": "published", "approve": "approved", "reject": "rejected"},
    **{"start": "started", "end": "ended", "record": "recorded", "register": "registered", "replace": "replaced"},
    **{"execute": "carried out", "supersede": "replaced", "test": "tested", "upload": "uploaded", "rename": "renamed"},
}
_THINGS: Final = {
    **{"api_key": "an API key", "orgs": "an organization", "org": "an organization", "user": "a person"},
    **{"key": "a signing key", "risk_case": "a case", "risk_list_entry": "an entry of a risk list"},
    **{"risk_settings": "the settings of risk", "policy_attributes": "the attributes of policies"},
    **{"agent_settings": "the settings of agents", "risk_mapping": "the mappings of raw events"},
    **{"risk_challenge": "a challenge", "issuer_request": "a request about an issuer", "addon": "an add-on"},
    **{"policy_version": "a policy", "risk_case_comment": "a comment of a case"},
    **{"issuer_logo": "the logo of an issuer", "run_step": "a step of a run"},
}
_SENTENCES: Final[Mapping[str, str]] = {
    "session.create": "signed in",
    "session.end": "ended a session",
    "refresh_token.create": "got the next token of a session",
    "refresh_token.use": "stayed signed in",
    "request.denied": "was refused {what}",
    "address.block": "was blocked after too many refused requests",
    "policy_decision.evaluate": "had {what} made",
    "policy_version.create": "wrote a version of {what}",
    "simulation_report.create": "simulated a policy",
    "issuer.create": "registered {what}",
    "key.activate": "began to use {what}",
    "key.rewrap": "sealed {what} under a new master key",
    "mail.create": "had a mail sent",
    "mailed_token.create": "had a link mailed",
    "mailed_token.use": "followed a mailed link",
    "user.join": "accepted the invitation of {what}",
    "user.lapse": "let the invitation of {what} end",
    "user.change_role": "changed the role of {what}",
    "user.change_password": "changed the password of {what}",
    "user.reset_password": "chose another password for {what}",
    "user.rehash_password": "had the password of {what} stored more safely",
    "user.change_address": "changed the address of {what}",
    "api_key.replace_secret": "gave {what} another secret",
    "tenant.plan": "changed the plan of the tenant",
    "tenant.addons": "changed the add-ons of the tenant",
    "risk_case_comment.add": "commented on a case",
    "agent.rotate_key": "rotated the key of {what}",
    "agent.delegate": "gave {what} a place in a tree",
    "agent.lose_owner": "noted that no person answers for {what}",
    "agent.release": "gave {what} to another person",
    "agent.sign": "signed a statement as {what}",
    "agent.sign_card": "signed the card of {what}",
    "agent_session.refresh": "went on with a session of an agent",
    "delivery.claim": "took a delivered attestation",
    "webhook_delivery.test": "sent a test to a webhook endpoint",
    "webhook_recovery.enqueue": "had missed events sent again",
}
MECHANICS: Final = (
    *("refresh_token.create", "refresh_token.use", "agent_refresh_token.create", "agent_refresh_token.use"),
    *("mail.create", "mailed_token.create", "mailed_token.use", "run.count", "witness_request.count"),
    *("user.rehash_password", "token_key.create"),
)
"""Actions that only repeat, or follow from, what another line says."""
_NAMED: Final = {
    **{"api_key": "the API key", "issuer": "", "issuer_logo": "the logo of", "user": "", "policy": "the policy"},
    **{"agent": "the agent", "key": "the signing key", "risk_case": "the case of"},
    **{"attestation": "an attestation of", "policy_decision": "the decision", "route": "", "org": "the organization"},
}

_SERVICES: Final = {
    **{"attestlab-cli": "An operator", "timekeeper": "The clock of the service", "billing": "Billing"},
    **{"risk-escalation": "Risk detection", "risk-labels": "Risk detection", "stripe": "Stripe"},
    **{"retention": "The retention of receipts"},
}


class Deed(NamedTuple):
    """A deed in three parts: words, the name of the thing that it was done to, and words; the name may be empty."""

    before: str
    name: str = ""
    after: str = ""


def name_service(actor_id: str) -> str:
    """Name a part of the service that did something.

    >>> name_service("attestlab-cli"), name_service("attestlab-mail")
    ('An operator', 'The service')
    """
    return _SERVICES.get(actor_id, "The service")


def describe_deed(action: str) -> str:
    """Describe an action of the audit trail in words.

    >>> describe_deed("risk_list_entry.add"), describe_deed("api_key.revoke"), describe_deed("policy.replay")
    ('added an entry of a risk list', 'revoked an API key', 'did replay with a policy')
    """
    sentence = _SENTENCES.get(action)
    thing = _describe_thing(action.partition(".")[0])
    return _compose_sentence(action) + thing if sentence is None else sentence.replace("{what}", thing)


def write_deed(action: str, resource_type: str, name: str) -> Deed:
    """Write what was done to a thing of this name; without a name, to a thing of its kind.

    >>> write_deed("api_key.revoke", "api_key", "Nightly mints")
    Deed(before='revoked the API key ', name='Nightly mints', after='')
    >>> write_deed("attestation.mint", "attestation", "")
    Deed(before='minted an attestation', name='', after='')
    """
    if not name or resource_type not in _NAMED:
        return Deed(describe_deed(action))
    sentence = _SENTENCES.get(action, f"{_compose_sentence(action)}{{what}}")
    before, has_thing, after = sentence.partition("{what}")
    noun = _NAMED[resource_type]
    return Deed(f"{before}{noun}{' ' if noun else ''}", name, after) if has_thing else Deed(before)


def compose_link(resource_type: str, resource_id: str) -> str:
    """Compose the address of the page that shows a thing, relative to a page; empty if no page shows one alone.

    >>> compose_link("attestation", "7"), compose_link("key", "8/main"), compose_link("mail", "9")
    ('log?q=7', 'issuers?issuer=8&key=8%2Fmain', '')
    """
    owner = resource_id.partition("/")[0]
    places: Mapping[str, tuple[str, dict[str, str]]] = {
        "attestation": ("log", {"q": resource_id}),
        "receipt": ("log", {"q": resource_id}),
        "issuer": ("issuers", {"issuer": owner}),
        "issuer_logo": ("issuers", {"issuer": owner}),
        "key": ("issuers", {"issuer": owner, "key": resource_id}),
        "policy": ("policy", {"policy": owner}),
        "policy_decision": ("policy", {"decision": resource_id}),
        "agent": ("agents", {"agent": owner}),
        "user": ("access", {"who": f"person:{owner}"}),
        "api_key": ("access", {"who": f"key:{owner}"}),
    }
    if resource_type not in places:
        return ""
    page, query = places[resource_type]
    return f"{page}?{urlencode(query)}"


def compose_entity_link(kind: str, entity_id: str) -> str:
    """Compose the address of the drawer of an entity of risk.

    >>> compose_entity_link("user", "u 1")
    'risk?entity=user%3Au+1'
    """
    return f"risk?{urlencode({'entity': f'{kind}:{entity_id}'})}"


def _compose_sentence(action: str) -> str:
    verb = action.partition(".")[2]
    return f"{_PAST[verb]} " if verb in _PAST else f"did {verb.replace('_', ' ')} with "


def _describe_thing(kind: str) -> str:
    noun = kind.replace("_", " ")
    return _THINGS.get(kind) or f"{'an' if noun[:1] in 'aeio' else 'a'} {noun}"
