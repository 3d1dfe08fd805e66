"""The tlog-policy text: what it may say, and which checkpoints it accepts."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from attestlab.core.errors import SignatureInvalid, ValidationFailed
from attestlab.log.merkle.hashing import leaf_hash
from attestlab.log.note.note import NoteSigner, SignatureType, TreeHead, VerifierKey, sign_checkpoint
from attestlab.log.note.trust_policy import TrustPolicy

AT_S = 1_795_262_400


def signer(name: str, seed: int) -> NoteSigner:
    return NoteSigner(name, Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32))


LOG = signer("log.example/a", 1)
OTHER_LOG = signer("log.example/b", 2)
WITNESSES = {name: signer(f"witness.example/{name}", 10 + n) for n, name in enumerate(("X1", "X2", "X3", "Y1", "Y2"))}
HEAD = TreeHead("log.example/a", 7, leaf_hash(b"anything"))

WITNESS_LINES = "".join(f"witness {name} {key.vkey.cosigner()}\n" for name, key in WITNESSES.items())
TWO_LEVELS = f"""
# the example of tlog-policy
log {LOG.vkey} https://log.example/a

{WITNESS_LINES}
  group  X-witnesses \t2 X1 X2 X3
group Y-witnesses any Y1 Y2
group X-and-Y all X-witnesses Y-witnesses
quorum X-and-Y
"""


def checkpoint(*witnesses: str, log: NoteSigner = LOG, head: TreeHead = HEAD) -> str:
    cosigned = "".join(WITNESSES[name].cosign(head.text, at_s=AT_S + 1) for name in witnesses)
    return sign_checkpoint(log, head, at_s=AT_S) + cosigned


def test_accepted_checkpoint_lists_witnesses_and_times() -> None:
    accepted = TrustPolicy.parse(TWO_LEVELS).verify_checkpoint(checkpoint("X1", "X3", "Y2"))

    assert (accepted.origin, accepted.size, accepted.root) == (HEAD.origin, HEAD.size, HEAD.root)
    assert accepted.timestamp_s == AT_S
    assert accepted.witnesses == {"X1": AT_S + 1, "X3": AT_S + 1, "Y2": AT_S + 1}


@pytest.mark.parametrize("present", [(), ("X1",), ("X1", "X2"), ("Y1", "Y2"), ("X1", "Y1"), ("X1", "X1", "Y1")])
def test_a_quorum_that_is_not_met_refuses_the_checkpoint(present: tuple[str, ...]) -> None:
    with pytest.raises(SignatureInvalid, match="quorum"):
        TrustPolicy.parse(TWO_LEVELS).verify_checkpoint(checkpoint(*present))


def test_a_quorum_may_be_a_single_witness() -> None:
    policy = TrustPolicy.parse(f"log {LOG.vkey}\n{WITNESS_LINES}quorum X2\n")
    policy.verify_checkpoint(checkpoint("X2"))
    with pytest.raises(SignatureInvalid, match="quorum"):
        policy.verify_checkpoint(checkpoint("X1"))


def test_no_witnesses_are_needed_only_where_the_policy_says_none() -> None:
    TrustPolicy.parse(f"log {LOG.vkey}\nquorum none\n").verify_checkpoint(checkpoint())
    with pytest.raises(ValidationFailed, match="quorum none"):
        TrustPolicy.parse(f"log {LOG.vkey}\n")


def test_a_log_that_is_not_in_the_policy_is_refused() -> None:
    other = TreeHead("log.example/b", 7, HEAD.root)
    with pytest.raises(SignatureInvalid, match="no log with the origin"):
        TrustPolicy.without_witnesses(str(LOG.vkey)).verify_checkpoint(checkpoint(log=OTHER_LOG, head=other))


def test_a_trusted_log_cannot_sign_for_another_trusted_log() -> None:
    """
    The key's name must be the origin line; else one log could speak in the name of all others.
    """
    policy = TrustPolicy.parse(f"log {LOG.vkey}\nlog {OTHER_LOG.vkey}\nquorum none\n")
    with pytest.raises(SignatureInvalid, match="not signed"):
        policy.verify_checkpoint(checkpoint(log=OTHER_LOG, head=HEAD))


def test_a_log_may_have_an_old_and_a_new_key() -> None:
    renewed = signer(LOG.vkey.name, 3)
    policy = TrustPolicy.parse(f"log {LOG.vkey}\nlog {renewed.vkey}\nquorum none\n")
    assert policy.verify_checkpoint(checkpoint()).timestamp_s == AT_S
    assert policy.verify_checkpoint(checkpoint(log=renewed)).timestamp_s == AT_S


def test_the_logs_timestamp_alone_is_not_its_signature() -> None:
    text = HEAD.text
    with pytest.raises(SignatureInvalid, match="not signed"):
        TrustPolicy.without_witnesses(str(LOG.vkey)).verify_checkpoint(f"{text}\n{LOG.cosign(text, at_s=AT_S)}")


def test_a_checkpoint_without_a_timestamp_has_no_time() -> None:
    text = HEAD.text
    accepted = TrustPolicy.without_witnesses(str(LOG.vkey)).verify_checkpoint(f"{text}\n{LOG.sign(text)}")
    assert accepted.timestamp_s is None


def test_names_are_bytes_and_look_alikes_are_different() -> None:
    kelvin = f"log {LOG.vkey}\nwitness \u212a {WITNESSES['X1'].vkey.cosigner()}\nquorum K\n"
    with pytest.raises(ValidationFailed, match="no line before"):
        TrustPolicy.parse(kelvin)
    TrustPolicy.parse(kelvin.replace("quorum K", "quorum \u212a")).verify_checkpoint(checkpoint("X1"))


def test_a_name_need_not_be_utf8() -> None:
    policy = f"log {LOG.vkey}\nwitness W {WITNESSES['X1'].vkey.cosigner()}\nquorum W\n".encode()
    latin1 = policy.replace(b" W", b" \xfc")
    assert TrustPolicy.parse(latin1).verify_checkpoint(checkpoint("X1")).witnesses == {"\ufffd": AT_S + 1}


def test_the_limits_that_tlog_policy_recommends_are_within_ours() -> None:
    keys = [signer(f"w{n}", 100 + n).vkey.cosigner() for n in range(32)]
    lines = [f"log {signer(f'l{n}', 50 + n).vkey}" for n in range(32)]
    lines += [f"witness w{n} {key}" for n, key in enumerate(keys)]
    lines += [f"group g{n} any w{n}" for n in range(31)] + ["group all all " + " ".join(f"g{n}" for n in range(31))]
    policy = TrustPolicy.parse("\n".join([*lines, "quorum all"]))
    assert (len(policy.logs), len(policy.witnesses), len(policy.groups)) == (32, 32, 32)


X1, X2 = (WITNESSES[name].vkey.cosigner() for name in ("X1", "X2"))
BEFORE = f"log {LOG.vkey}\nwitness X1 {X1}\nwitness X2 {X2}\n"


@pytest.mark.parametrize(
    "policy",
    [
        "quorum none\n",
        "",
        f"{BEFORE}quorum none\nquorum none\n",
        f"{BEFORE}quorum\n",
        f"{BEFORE}quorum X3\n",
        f"quorum X1\n{BEFORE}",
        f"{BEFORE}log {LOG.vkey}\nquorum none\n",
        f"{BEFORE}witness X3 {X1}\nquorum none\n",
        f"{BEFORE}witness X1 {WITNESSES['X3'].vkey.cosigner()}\nquorum none\n",
        f"{BEFORE}witness none {WITNESSES['X3'].vkey.cosigner()}\nquorum none\n",
        f"{BEFORE}witness X3 {WITNESSES['X3'].vkey}\nquorum none\n",
        f"log {LOG.vkey.cosigner()}\nquorum none\n",
        f"log {LOG.vkey} url more\nquorum none\n",
        f"{BEFORE}group g 0 X1 X2\nquorum g\n",
        f"{BEFORE}group g 3 X1 X2\nquorum g\n",
        f"{BEFORE}group g 01 X1 X2\nquorum g\n",
        f"{BEFORE}group g -1 X1 X2\nquorum g\n",
        f"{BEFORE}group g all\nquorum g\n",
        f"{BEFORE}group g any none\nquorum g\n",
        f"{BEFORE}group g any g\nquorum g\n",
        f"{BEFORE}group g 2 X1 X1\nquorum g\n",
        f"{BEFORE}group g any X1\ngroup h any X1 X2\nquorum h\n",
        f"{BEFORE}group X1 any X2\nquorum X1\n",
        f"{BEFORE}quorum none\x00\n",
        f"{BEFORE}quorum none\r",
        f"\ufeff\ufeff{BEFORE}quorum none\n",
        f"{BEFORE}allow everyone\nquorum none\n",
        f"LOG {LOG.vkey}\nquorum none\n",
    ],
)
def test_a_policy_that_breaks_a_rule_is_refused(policy: str) -> None:
    with pytest.raises(ValidationFailed):
        TrustPolicy.parse(policy)


@pytest.mark.parametrize("begin", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_policy_may_have_a_byte_order_mark_and_line_ends_of_windows(begin: str, end: str) -> None:
    text = begin + TWO_LEVELS.replace("\n", end)

    assert TrustPolicy.parse(text) == TrustPolicy.parse(text.encode()) == TrustPolicy.parse(TWO_LEVELS)


def test_a_policy_in_utf_16_is_refused_with_the_remedy() -> None:
    with pytest.raises(ValidationFailed, match="Save it as UTF-8"):
        TrustPolicy.parse(TWO_LEVELS.encode("utf-16"))


def test_a_refusal_says_which_line() -> None:
    with pytest.raises(ValidationFailed, match="Line 4"):
        TrustPolicy.parse(f"{BEFORE}allow everyone\nquorum none\n")


@pytest.mark.parametrize("line", ["log {}", "witness W {}"])
def test_small_order_key_is_rejected(line: str) -> None:
    kind = SignatureType.ED25519 if line.startswith("log") else SignatureType.COSIGNATURE_V1
    hostile = VerifierKey("log.example/a", kind, bytes(32))

    with pytest.raises(ValidationFailed, match=r"^Line 1 of the trust policy: .* small order"):
        TrustPolicy.parse(line.format(hostile) + "\nquorum none\n")
