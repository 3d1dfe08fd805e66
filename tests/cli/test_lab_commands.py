"""Commands that use a lab, on a folder and on a service: `mint`, `badge`, those of `policy`, `tenant list`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attestlab.exports.baking.limits import NO_CREDENTIAL
from attestlab.exports.baking.pictures import bake
from support.attestations import make_mint_body, mint
from support.badge_pictures import make_png
from support.fork_server import run_command
from support.issuers import register_issuer
from support.lost_output import BROKEN_PIPE, FULL, into_broken_pipe, into_full
from support.server_process import ServerProcess, run_json_command

CLAIMS = ("--claim", "student_name=Ada Lovelace", "--claim", "institution=University of London")
RULE = """
[[rules]]
id = "{id}"
effect = "DENY"
priority = {priority}
when = {when}
"""
HEAD = """
name = "No minting from afar"
category = "MINT"
target_type = "TENANT_DEFAULT"
default_effect = "ALLOW"
"""
FAR = RULE.format(id="far-away", priority=1, when='{ attr = "jurisdiction", op = "eq", value = "AQ" }')
DEAD = RULE.format(
    id="never",
    priority=2,
    when='{ all = [{ attr = "key.age_days", op = "lt", value = 1 }, { attr = "key.age_days", op = "gt", value = 2 }] }',
)
TEST = """
[[tests]]
name = "antarctica may not"
context = { jurisdiction = "AQ" }
allowed = %s
"""


@pytest.fixture(scope="module")
def doors(running: ServerProcess) -> dict[str, tuple[str, ...]]:
    """The options of both doors to one installation."""
    running.start()
    return {
        "folder": ("--data", str(running.data), "--database-url", running.database_url),
        "service": ("--url", running.url, "--api-key", running.made["api_key"]),
    }


@pytest.fixture(params=["folder", "service"])
def door(request: pytest.FixtureRequest, doors: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    found: tuple[str, ...] = doors[request.param]
    return found


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return tmp_path / "policy.toml"


def run_json(*arguments: str) -> dict[str, Any]:
    return run_json_command(*arguments, "--json")


def test_mint_attests_a_file_that_then_verifies_offline(
    door: tuple[str, ...], running: ServerProcess, tmp_path: Path
) -> None:
    with running.client() as client:
        issuer = register_issuer(client)
    document, bundle, trust = (tmp_path / name for name in ("diploma.pdf", "bundle.json", "trust.txt"))
    document.write_bytes(b"any file will do")
    trust.write_text(f"log {running.made['log_vkey']}\nquorum none\n")
    options = ("--issuer", issuer["id"], "--schema", "degree", *CLAIMS, "--bundle", str(bundle))

    minted = run_json("mint", str(document), *options, *door)
    checked = ("verify", str(bundle), "--file", str(document), "--trust", str(trust))

    assert minted["status"] == "VALID"
    assert run_command(*checked).returncode == 0
    document.write_bytes(b"another file")
    assert run_command(*checked).stdout.startswith("ALTERED")


def test_a_mint_without_its_bundle_is_no_mint_that_failed(
    door: tuple[str, ...], running: ServerProcess, tmp_path: Path
) -> None:
    with running.client() as client:
        issuer = register_issuer(client)
        options = (
            "--issuer",
            issuer["id"],
            "--schema",
            "degree",
            *CLAIMS,
            "--bundle",
            str(tmp_path / "none" / "b.json"),
        )
        done = run_command("mint", __file__, *options, *door, "--json")
        minted = json.loads(done.stdout)["id"]

        assert done.returncode == 1
        assert done.stderr.startswith(f"attestlab: {minted} is attested and logged, but its bundle was not written: ")
        assert client.get(f"/v1/attestations/{minted}/proof-bundle").status_code == 200


@pytest.mark.parametrize("form", ["png", "svg"])
def test_badge_writes_a_picture_that_verifies_offline_with_the_metadata_of_its_issuer(
    door: tuple[str, ...], running: ServerProcess, tmp_path: Path, form: str
) -> None:
    with running.client() as client:
        issuer = register_issuer(client)
        made = mint(client, make_mint_body(issuer)).json()
        pinned = tmp_path / "issuer.json"
        pinned.write_bytes(client.get(f"/.well-known/jwt-vc-issuer/v1/issuers/{issuer['id']}").content)
    picture = tmp_path / f"badge.{form}"

    done = run_command("badge", made["id"], str(picture), *door, "--json", ATTESTLAB_PORTAL_URL=running.url)
    exported = json.loads(done.stdout)
    checked = run_command("verify", str(picture), "--issuer", str(pinned))

    issuer_url = json.loads(pinned.read_bytes())["issuer"]
    named = {"badge": "MSc", "issuer": issuer["name"], "issuer_url": issuer_url}
    assert exported == {**named, "picture": str(picture)}
    assert f"look for keys at {issuer_url}" in done.stderr  # it is no https
    assert (checked.returncode, checked.stdout.splitlines()[0]) == (0, f"VALID  Open Badge of attestation {made['id']}")
    assert "not checked offline: whether the attestation or its key was revoked" in checked.stdout


def test_verify_of_a_badge_has_the_exit_status_of_its_verdict(
    doors: dict[str, tuple[str, ...]], running: ServerProcess, tmp_path: Path
) -> None:
    with running.client() as client:
        issuer, other = register_issuer(client), register_issuer(client)
        made = mint(client, make_mint_body(issuer)).json()
        token = client.get(f"/v1/attestations/{made['id']}/open-badge").text
        for name, each in (("ours", issuer), ("theirs", other)):
            found = client.get(f"/.well-known/jwt-vc-issuer/v1/issuers/{each['id']}")
            (tmp_path / name).write_bytes(found.content)
    (tmp_path / "badge.jwt").write_text(token)
    (tmp_path / "forged.png").write_bytes(bake(make_png(), f"{token[:-8]}AAAAAAAA"))
    (tmp_path / "plain.png").write_bytes(make_png())
    (tmp_path / "junk").write_text("{}")

    def check(name: str, *options: str) -> tuple[int, dict[str, Any]]:
        done = run_command("verify", str(tmp_path / name), *options, "--json")
        return done.returncode, json.loads(done.stdout)

    def pinned(name: str) -> tuple[str, str]:
        return "--issuer", str(tmp_path / name)

    status, report = check("badge.jwt", *pinned("ours"))
    assert (status, report["verdict"], report["attestation_id"]) == (0, "VALID", made["id"])
    assert report["badge"]["earner"] == "Ada Lovelace"
    assert check("badge.jwt", *pinned("theirs"))[0] == 1
    status, report = check("forged.png", *pinned("ours"))
    assert (status, report["verdict"], report["badge"]) == (1, "INVALID", None)
    assert check("plain.png", *pinned("ours")) == (2, {"verdict": None, "error": f"Unusable input: {NO_CREDENTIAL}"})
    assert check("badge.jwt", *pinned("ours"), "--file", __file__)[0] == 2
    assert check("badge.jwt")[0] == check("badge.jwt", *pinned("junk"))[0] == check("badge.jwt", *pinned("no"))[0] == 3
    lost = ["verify", str(tmp_path / "badge.jwt"), *pinned("ours")]
    assert [into_full(lost), into_broken_pipe(lost)] == [(3, FULL), (BROKEN_PIPE, "")]


def test_badge_wants_a_name_that_says_its_format(tmp_path: Path) -> None:
    failed = run_command("badge", "0193b5a0-7f3c-7abc-8def-0123456789ab", str(tmp_path / "badge.gif"), "--data", "lab")

    assert (failed.returncode, "neither .png nor .svg" in failed.stderr) == (2, True)


def test_claims_come_from_a_file_and_options_win(
    doors: dict[str, tuple[str, ...]], running: ServerProcess, tmp_path: Path
) -> None:
    with running.client() as client:
        issuer = register_issuer(client)
        (tmp_path / "claims.json").write_text(json.dumps({"student_name": "Ada", "institution": "London"}))
        options = ("--claims", str(tmp_path / "claims.json"), "--claim", "student_name=Emmy", "--schema", "degree")
        minted = run_json("mint", __file__, "--issuer", issuer["id"], *options, *doors["service"])
        found = client.get(f"/v1/attestations/{minted['id']}").json()

    assert found["payload"]["claims"] == {"student_name": "Emmy", "institution": "London"}
    assert minted["page"] == f"{running.url}/a/{minted['id']}"


def test_key_comes_from_the_environment_and_url_wins_over_the_folder_there(running: ServerProcess) -> None:
    variables = {"ATTESTLAB_API_KEY": running.made["api_key"], "ATTESTLAB_DATA": "/nowhere"}
    done = run_command("policy", "simulate", "/nowhere.toml", "--url", running.url, **variables)

    assert (done.returncode, "There is no file" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ((), "Which lab?"),
        (("--data", "lab", "--url", "http://127.0.0.1:1"), "two labs"),
        (("--data", "/nowhere"), "attestlab init"),
        (("--url", "http://127.0.0.1:1"), "No service answers"),
    ],
    ids=["none", "two", "no folder", "no service"],
)
def test_a_lab_that_is_not_there_is_one_line(options: tuple[str, ...], reason: str) -> None:
    failed = run_command("mint", __file__, "--issuer", "x", "--schema", "degree", "--claim", "a=b", *options)

    assert (failed.returncode, failed.stdout, failed.stderr.count("\n")) == (2, "", 1)
    assert reason in failed.stderr


@pytest.mark.parametrize(
    ("document", "code", "printed"),
    [
        (HEAD + FAR + TEST % "false", 0, ""),
        (HEAD + FAR + TEST % "true", 1, "failing test: antarctica may not\n"),
        (HEAD + FAR + DEAD, 1, "dead: never\n"),
        (HEAD + FAR.replace("jurisdiction", "jurisdicton"), 2, ""),
        ("not a policy", 2, ""),
    ],
    ids=["sound", "failing test", "dead rule", "unknown attribute", "no policy"],
)
def test_check_says_whether_a_policy_could_be_activated(policy: Path, document: str, code: int, printed: str) -> None:
    policy.write_text(document)

    done = run_command("policy", "check", str(policy))

    assert (done.returncode, done.stdout) == (code, printed), done.stderr
    assert "Traceback" not in done.stderr


def test_check_lists_every_fault(policy: Path) -> None:
    policy.write_text(HEAD + FAR.replace("jurisdiction", "jurisdicton") + DEAD.replace("key.age_days", "key.age"))

    lines = run_command("policy", "check", str(policy)).stderr.splitlines()

    assert len(lines) == 3
    assert all(line.startswith("attestlab: ") for line in lines)


def test_check_through_a_door_knows_the_attributes_of_the_tenant(
    door: tuple[str, ...], running: ServerProcess, policy: Path
) -> None:
    own = [{"path": "shift", "type": "enum", "domain": ["day", "night"]}]
    with running.client() as client:
        client.put("/v1/policies/attributes", json={"attributes": own}).raise_for_status()
    policy.write_text(
        HEAD + RULE.format(id="at-night", priority=1, when='{ attr = "shift", op = "eq", value = "night" }')
    )

    assert run_command("policy", "check", str(policy)).returncode == 2
    found = run_json("policy", "check", str(policy), *door)
    assert (found["activatable"], found["findings"]) == (True, [])


def test_simulate_shows_what_would_have_changed(door: tuple[str, ...], running: ServerProcess, policy: Path) -> None:
    with running.client() as client:
        for country in ("AQ", "CH"):
            asked = {"action": "MINT", "target_type": "TENANT_DEFAULT", "context": {"jurisdiction": country}}
            client.post("/v1/policies/evaluate", json=asked).raise_for_status()
    policy.write_text(HEAD + FAR)

    report = run_json("policy", "simulate", str(policy), "--by", "jurisdiction", *door)
    shown = run_command("policy", "simulate", str(policy), "--by", "jurisdiction", *door).stdout.splitlines()

    flips = [(flip["segments"], flip["from"], flip["to"]) for flip in report["flips"]]
    assert flips == [({"jurisdiction": "AQ"}, "ALLOW", "DENY")]
    assert shown[-2].split() == ["jurisdiction", "from", "to", "decisions"]
    assert shown[-1].split()[:3] == ["AQ", "ALLOW", "DENY"]


def test_tenant_list_shows_each_tenant_with_its_plan(tmp_path: Path) -> None:
    folder = ("--data", str(tmp_path))
    made = run_json("init", *folder)
    other = run_json("tenant", "create", "Registry of Deeds", "--plan", "STARTER", *folder)
    consumer = run_json("consumer", "create", "ada@example.org", *folder)

    listed = run_json("tenant", "list", *folder)["items"]
    everyone = run_json("tenant", "list", "--consumers", *folder)["items"]
    lines = run_command("tenant", "list", *folder).stdout.splitlines()

    assert [each["tenant_id"] for each in listed] == [made["tenant_id"], other["tenant_id"]]
    assert [(each["plan"], each["operator"]) for each in listed][1] == ("STARTER", False)
    assert {each["tenant_id"] for each in everyone} - {each["tenant_id"] for each in listed} == {consumer["tenant_id"]}
    assert lines[0].split() == list(listed[0])
    assert lines[2].endswith("Registry of Deeds")
