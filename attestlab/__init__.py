"""Attestation and verification infrastructure that opens in a notebook.

>>> import attestlab
>>> attestlab.Verdict("ALTERED").name
'ALTERED'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from attestlab.core.extras import naming_extras
from attestlab.core.version import VERSION

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from attestlab.attestations.bundle.bundle import Bundle
    from attestlab.attestations.bundle.verifier import examine_bundle, verify_bundle
    from attestlab.attestations.bundle.verifier_policies import VerifierPolicies
    from attestlab.attestations.minting import MintRequest
    from attestlab.attestations.rules import Reason, Status, Verdict, sha256
    from attestlab.attestations.verification.steps import VerifierInput
    from attestlab.client.asynchronous.connecting import connect_async
    from attestlab.client.connecting import connect
    from attestlab.client.lab import Lab
    from attestlab.client.own_keys import OwnKey
    from attestlab.core.errors import AttestLabError
    from attestlab.demos.display import steps
    from attestlab.demos.world import demo_world
    from attestlab.embedded.demo import demo
    from attestlab.embedded.opening import open_lab as open  # public as `attestlab.open`
    from attestlab.installation import Installation
    from attestlab.log.note.trust_policy import TrustPolicy
    from attestlab.settings import Settings

__version__ = VERSION
__all__ = [
    "AttestLabError",
    "Bundle",
    "Installation",
    "Lab",
    "MintRequest",
    "OwnKey",
    "Reason",
    "Settings",
    "Status",
    "TrustPolicy",
    "Verdict",
    "VerifierInput",
    "VerifierPolicies",
    "connect",
    "connect_async",
    "demo",
    "demo_world",
    "examine_bundle",
    "open",
    "sha256",
    "steps",
    "verify_bundle",
]

# The module of each public name. It is loaded when the name is first used, so that importing this
# package loads neither the server nor a database, and the offline verifier starts quickly.
_HOMES = {
    "AttestLabError": "attestlab.core.errors",
    "Bundle": "attestlab.attestations.bundle.bundle",
    "Installation": "attestlab.installation",
    "Lab": "attestlab.client.lab",
    "MintRequest": "attestlab.attestations.minting",
    "OwnKey": "attestlab.client.own_keys",
    "Reason": "attestlab.attestations.rules",
    "Settings": "attestlab.settings",
    "Status": "attestlab.attestations.rules",
    "TrustPolicy": "attestlab.log.note.trust_policy",
    "Verdict": "attestlab.attestations.rules",
    "VerifierInput": "attestlab.attestations.verification.steps",
    "VerifierPolicies": "attestlab.attestations.bundle.verifier_policies",
    "connect": "attestlab.client.connecting",
    "connect_async": "attestlab.client.asynchronous.connecting",
    "demo": "attestlab.embedded.demo",
    "demo_world": "attestlab.demos.world",
    "examine_bundle": "attestlab.attestations.bundle.verifier",
    "open": "attestlab.embedded.opening",
    "sha256": "attestlab.attestations.rules",
    "steps": "attestlab.demos.display",
    "verify_bundle": "attestlab.attestations.bundle.verifier",
}
# Public names that their modules define under a longer one.
_LONG_NAMES = {"open": "open_lab"}
# Public modules, which are loaded when they are first used, too.
_MODULES = ("plots",)


def __getattr__(name: str) -> Any:  # any of the public objects
    if name in _MODULES:
        return import_module(f"attestlab.{name}")
    if name not in _HOMES:
        raise AttributeError(f"attestlab has no {name!r}; it has {', '.join([*__all__, *_MODULES])}")
    with naming_extras():
        return getattr(import_module(_HOMES[name]), _LONG_NAMES.get(name, name))


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, "__version__"])


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register `%%attest_sql`, `%verify` and completions with IPython, which calls this for `%load_ext attestlab`."""
    from attestlab.client import notebook  # loads IPython, which only notebooks have

    notebook.register(shell)
