"""Claims of the demo's attestations: invented people, courses and goods, drawn for each schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from random import Random

ClaimValues = dict[str, object]
_FIRST = (
    "Amara",
    "Bruno",
    "Chiara",
    "Dmitri",
    "Elif",
    "Femi",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Kavya",
    "Lena",
    "Malik",
)
_LAST = ("Adler", "Baptiste", "Costa", "Dubois", "Eriksen", "Fischer", "Grant", "Haas", "Ivanova", "Jansen", "Keller")
_FIELDS = ("Mathematics", "Marine Biology", "History", "Chemistry", "Economics", "Linguistics")
_COURSES = ("Knots and Splices", "Radio on Board", "First Aid at Sea", "Chart Reading")
_SKILLS = ("Woodworking", "Welding", "Soldering", "Pattern Cutting")
_GOODS = ("Oak stool", "Walnut bowl", "Ash spoon", "Elm tray")
_SEASON = timedelta(days=180)  # of a club's card


def draw_claims(schema: str, issuer: str, at: datetime, random: Random) -> ClaimValues:
    """Draw the claims of an attestation that an issuer mints at a time."""
    person = f"{random.choice(_FIRST)} {random.choice(_LAST)}"
    return _DRAWERS[schema](person, issuer, at.date(), random)


def _draw_degree(person: str, issuer: str, on: date, random: Random) -> ClaimValues:
    field = random.choice(_FIELDS)
    degree = {"degree_type": random.choice(("BSc", "MSc", "PhD")), "field_of_study": field}
    return {"student_name": person, "institution": issuer, **degree, "graduation_date": on.isoformat()}


def _draw_transcript(person: str, issuer: str, on: date, random: Random) -> ClaimValues:
    program = random.choice(_FIELDS)
    return {"student_name": person, "institution": issuer, "program": program, "issue_date": on.isoformat()}


def _draw_custody(person: str, issuer: str, on: date, random: Random) -> ClaimValues:
    item = f"Box {random.randint(1, 900)} of the cantonal records"
    return {"item_description": item, "from_entity": "Land Registry", "to_entity": issuer, "condition": "sealed"}


def _draw_training(person: str, issuer: str, on: date, random: Random) -> ClaimValues:
    course = {"training_program": random.choice(_COURSES), "provider": issuer}
    return {"trainee_name": person, **course, "completion_date": on.isoformat(), "score": random.randint(60, 100)}


def _draw_vaccination(person: str, issuer: str, on: date, random: Random) -> ClaimValues:
    vaccine = {"vaccine_name": random.choice(("Influenza", "Tetanus", "Hepatitis B")), "site": issuer}
    return {"patient_name": person, **vaccine, "date_administered": on.isoformat()}


def _draw_course(person: str, issuer: str, on: date, random: Random) -> ClaimValues:
    course = {"program_name": "Sculling for beginners", "institution": issuer}
    return {"participant_name": person, **course, "completion_date": on.isoformat()}


def _draw_card(person: str, issuer: str, on: date, random: Random) -> ClaimValues:
    validity = {"valid_from": on.isoformat(), "valid_to": (on + _SEASON).isoformat()}
    return {
        "member_name": person,
        "organization": issuer,
        "membership_id": f"A-{random.randint(1, 9999):04}",
        **validity,
    }


def _draw_badge(person: str, issuer: str, on: date, random: Random) -> ClaimValues:
    skill = random.choice(_SKILLS)
    return {"earner_name": person, "skill_name": skill, "assessed_by": issuer, "earned_date": on.isoformat()}


def _draw_product(person: str, issuer: str, on: date, random: Random) -> ClaimValues:
    product = {"product_name": random.choice(_GOODS), "serial_number": f"W-{random.randint(1, 99999):05}"}
    return {**product, "manufacturer": issuer, "manufactured_date": on.isoformat(), "origin_country": "PT"}


def _draw_micro_credential(person: str, issuer: str, on: date, random: Random) -> ClaimValues:
    credential = {"credential_name": "Proofreading", "issuer": issuer}
    return {"earner_name": person, **credential, "earned_date": on.isoformat()}


_DRAWERS: Mapping[str, Callable[[str, str, date, Random], ClaimValues]] = {
    "degree": _draw_degree,
    "transcript": _draw_transcript,
    "chain-of-custody": _draw_custody,
    "training-completion": _draw_training,
    "vaccination-record": _draw_vaccination,
    "completion-cert": _draw_course,
    "membership-card": _draw_card,
    "skill-badge": _draw_badge,
    "product-authenticity": _draw_product,
    "micro-credential": _draw_micro_credential,
}
