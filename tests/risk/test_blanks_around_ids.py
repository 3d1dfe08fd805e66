"""Blanks around an id are no part of it, wherever an id is sent or asked for."""

from __future__ import annotations

import httpx
import pytest

from attestlab.risk.logins.login import Login, LoginOutcome
from attestlab.risk.rules import Entity, EntityType, list_matching_ids
from support.risk import add_signal, get, list_ids, post, put_on_list
from support.risk_simulations import START

pytestmark = pytest.mark.one_world

BLANKS = [" {}", "{} ", "\u00a0{}\u2003"]


@pytest.mark.parametrize("blanks", BLANKS)
@pytest.mark.parametrize("kind", EntityType)
def test_an_entity_is_its_id_without_blanks(kind: EntityType, blanks: str) -> None:
    assert Entity.of(kind, blanks.format("d1")) == Entity(kind, "d1")


@pytest.mark.parametrize("blanks", BLANKS)
def test_a_signal_is_found_with_blanks_and_without(blanks: str, key: httpx.Client) -> None:
    sent = blanks.format("d1")
    signal = add_signal(key, entity_type="device", entity_id=sent, score=91, details={"user": sent})

    assert signal["entity_id"] == "d1"
    for asked in ("d1", sent):
        assert list_ids(key, entity_type="device", entity_id=asked) == [signal["id"]]
        assert list_ids(key, "cases", entity_type="device", entity_id=asked) == [signal["case_id"]]
    assert {each["id"] for each in get(key, "entities/device/d1/graph")["nodes"]} == {"d1"}


def test_lists_velocity_and_challenges_name_one_entity(key: httpx.Client) -> None:
    put_on_list(key, "deny", entity_type="device", entity_id=" d1")
    velocity = post(key, "velocity/record", {"entity_type": "device", "entity_id": "d1 ", "action": "upload"})
    challenge = {"subject_id": " d1", "subject_type": "device", "reason": "Login from a new country"}

    assert velocity["score"] == 100
    assert post(key, "challenge", challenge)["subject_id"] == "d1"
    assert len(get(key, "challenges?subject_type=device&subject_id=d1")["items"]) == 1


def test_a_login_is_that_of_the_user_and_device_without_blanks() -> None:
    login = Login(" ada ", LoginOutcome.SUCCESS, START, device_id="\td1")

    assert (login.subject_id, login.device_id) == ("ada", "d1")


def test_an_entry_from_before_with_a_blank_holds() -> None:
    assert {" d1", "d1 ", "d1"} == {*list_matching_ids("device", "d1")}


def test_an_id_of_blanks_alone_is_a_placeholder_as_it_was() -> None:
    assert Entity.of("device", "  ").id == "  "
    assert Login("ada", LoginOutcome.SUCCESS, START, device_id="  ").device_id is None
