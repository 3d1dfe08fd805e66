"""The forty agents of the demo's registry: four trees of delegations, each for one of its offices."""

from __future__ import annotations

from typing import Final, NamedTuple

from attestlab.agents.rules import AgentType

PROBING: Final = "Corpus crawler"
OWN_KEY: Final = "Scanner at the quay"


class FleetAgent(NamedTuple):
    """An agent of the demo: what it may do, who let it, and how often it works.

    `born_days_ago` counts from the end of the year, as `rotated_days_ago` and `ends_in_days` (later than it) do. It
    works every `rest_days` until `idle_days_ago`; one that never worked has no `rest_days`.
    """

    name: str
    agent_type: AgentType
    parent: str | None
    scopes: str
    description: str
    born_days_ago: float
    rest_days: float = 3.0
    idle_days_ago: float = 0.3
    rotated_days_ago: float | None = None
    ends_in_days: float | None = None


class FleetTree(NamedTuple):
    """A tree of agents, the person of the team who answers for it, and its members, parents first."""

    owner: str
    members: tuple[FleetAgent, ...]


_ORCHESTRATOR, _WORKER, _INFERENCE = AgentType.ORCHESTRATOR, AgentType.WORKER, AgentType.INFERENCE
_PIPELINE, _SERVICE, _BOT, _LLM = AgentType.PIPELINE, AgentType.SERVICE, AgentType.BOT, AgentType.LLM

_DIPLOMAS: Final = FleetTree(
    "ann",
    (
        FleetAgent(
            "Diploma office",
            _ORCHESTRATOR,
            None,
            "diplomas:* students:read mail:send !diplomas:delete",
            "Prepares the diplomas of Northfield University, from the list of grades to the letter.",
            240.2,
            2.0,
            0.05,
            31.2,
        ),
        FleetAgent(
            "Grade reader",
            _WORKER,
            "Diploma office",
            "students:read",
            "Reads grades from the students' records.",
            236.4,
            2.0,
            0.1,
            28.4,
        ),
        FleetAgent(
            "Diploma writer",
            _WORKER,
            "Diploma office",
            "diplomas:read diplomas:write",
            "Fills in the forms.",
            235.1,
            2.0,
            0.2,
            27.3,
        ),
        FleetAgent(
            "Diploma checker",
            _INFERENCE,
            "Diploma office",
            "diplomas:read students:read",
            "Compares names and grades with the records.",
            230.6,
            2.5,
            0.2,
            26.1,
        ),
        FleetAgent("Letter writer", _LLM, "Diploma office", "diplomas:read mail:send", "Writes letters.", 201.3, 4.0),
        FleetAgent(
            "Page renderer", _SERVICE, "Diploma writer", "diplomas:read", "Draws the pages.", 198.8, 2.0, 0.4, 21.7
        ),
        FleetAgent("Seal painter", _SERVICE, "Page renderer", "diplomas:read", "Draws the seal.", 197.5, 5.0, 0.9),
        FleetAgent("Name speller", _LLM, "Diploma checker", "students:read", "Finds odd spellings.", 160.3, 3.0, 12.6),
        FleetAgent("Night batch", _PIPELINE, "Diploma office", "diplomas:read", "Runs at night.", 120.7, 1.0, 0.5),
        FleetAgent("Transcript reader", _WORKER, "Night batch", "diplomas:read", "Was for 2025.", 118.6, 6.0, 64.0),
    ),
)
_ARCHIVE: Final = FleetTree(
    "ben",
    (
        FleetAgent(
            "Archive steward",
            _ORCHESTRATOR,
            None,
            "docs:* index:* !docs:delete",
            "Answers for every machine that touches the boxes of the Canton Archive.",
            210.3,
            3.0,
            0.06,
            40.3,
        ),
        FleetAgent(
            "Box indexer",
            _PIPELINE,
            "Archive steward",
            "docs:read index:* !index:drop",
            "Indexes each box that was opened.",
            204.2,
            2.0,
            0.2,
            39.5,
        ),
        FleetAgent(
            PROBING,
            _WORKER,
            "Box indexer",
            "docs:read index:write",
            "Follows references from one document to the next.",
            88.4,
            2.0,
            0.04,
        ),
        FleetAgent("Page reader", _INFERENCE, "Box indexer", "docs:read", "Reads handwriting.", 150.2, 2.0, 0.3),
        FleetAgent("Date finder", _LLM, "Page reader", "docs:read", "Finds dates in texts.", 147.7, 3.0, 0.6),
        FleetAgent("Place finder", _LLM, "Page reader", "docs:read", "Finds places in texts.", 147.6, 3.0, 0.7),
        FleetAgent(
            "Reference counter", _WORKER, PROBING, "docs:read", "Counts what the crawler found.", 60.5, 2.0, 0.3
        ),
        FleetAgent("Link follower", _WORKER, PROBING, "docs:read index:write", "Opens references.", 59.8, 2.0, 0.3),
        FleetAgent(
            "Loan reminder", _BOT, "Archive steward", "docs:read", "Asks readers for what is due.", 130.9, 4.0, 1.1
        ),
        FleetAgent("Old importer", _PIPELINE, "Archive steward", "docs:write", "Imported the cards.", 190.1, 9.0, 95.0),
    ),
)
_HARBOUR: Final = FleetTree(
    "ben",
    (
        FleetAgent(
            "Course desk",
            _ORCHESTRATOR,
            None,
            "courses:* mail:send calendar:*",
            "Answers people who ask for courses of Harbour Training.",
            180.6,
            2.0,
            0.07,
        ),
        FleetAgent("Front desk", _BOT, "Course desk", "courses:read mail:send", "Answers mails.", 178.2, 1.0, 0.1),
        FleetAgent("Room planner", _SERVICE, "Course desk", "calendar:*", "Books rooms.", 171.5, 3.0, 0.4, 33.9),
        FleetAgent(
            "Seat counter",
            _SERVICE,
            "Room planner",
            "calendar:read",
            "Counts free seats.",
            169.3,
            2.0,
            0.5,
        ),
        FleetAgent("Question sorter", _INFERENCE, "Front desk", "courses:read", "Sorts questions.", 140.8, 2.0, 0.4),
        FleetAgent("Translator", _LLM, "Front desk", "courses:read", "Translates answers.", 139.6, 2.0, 0.4),
        FleetAgent(OWN_KEY, _WORKER, "Course desk", "courses:read", "Holds its own key in its device.", 97.4, 2.0, 0.2),
        FleetAgent(
            "Season helper",
            _BOT,
            "Course desk",
            "courses:read",
            "Helps in the season.",
            50.2,
            2.0,
            0.6,
            ends_in_days=5.0,
        ),
        FleetAgent(
            "Trial assistant", _LLM, "Course desk", "courses:read", "A trial.", 75.1, 4.0, 41.0, ends_in_days=-38.0
        ),
        FleetAgent("Waiting list", _WORKER, "Course desk", "courses:write", "Keeps the waiting list.", 101.7, 3.0, 0.8),
    ),
)
_CLINICS: Final = FleetTree(
    "tom",
    (
        FleetAgent(
            "Clinic liaison",
            _ORCHESTRATOR,
            None,
            "certificates:* staff:read !certificates:delete !staff:export",
            "Asks Delta Clinics for what their staff has learned.",
            165.4,
            3.0,
            0.08,
        ),
        FleetAgent("Staff reader", _WORKER, "Clinic liaison", "staff:read", "Reads who works where.", 160.9, 2.0, 0.2),
        FleetAgent(
            "Certificate clerk",
            _WORKER,
            "Clinic liaison",
            "certificates:read certificates:write",
            "Prepares certificates.",
            158.4,
            2.0,
            0.3,
        ),
        FleetAgent(
            "Course matcher", _INFERENCE, "Certificate clerk", "certificates:read", "Finds courses.", 131.2, 2.0, 0.4
        ),
        FleetAgent(
            "Summary writer", _LLM, "Course matcher", "certificates:read", "Writes a summary for doctors.", 129.7, 2.0
        ),
        FleetAgent("Style reader", _LLM, "Summary writer", "certificates:read", "Reads the summary.", 128.1, 3.0, 0.6),
        FleetAgent("Ward poller", _SERVICE, "Staff reader", "staff:read", "Asks each ward.", 110.3, 1.0, 0.4),
        FleetAgent("Shift reader", _SERVICE, "Ward poller", "staff:read", "Reads the shifts.", 108.8, 2.0, 0.6),
        FleetAgent("Badge notifier", _BOT, "Clinic liaison", "certificates:read", "Was never used.", 84.9, 0.0),
        FleetAgent("Export helper", _PIPELINE, "Certificate clerk", "certificates:read", "Lists.", 70.6, 4.0, 9.0),
    ),
)
TREES: Final = (_DIPLOMAS, _ARCHIVE, _HARBOUR, _CLINICS)
