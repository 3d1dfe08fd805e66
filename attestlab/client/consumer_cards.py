"""The contents of the cards of what consumers receive, protect and show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attestlab.client.card_contents import MAX_LINES, name_schema, tone_of_verdict
from attestlab.client.cards import CardRow, CardTone, draw_card, join, write_code, write_hash, write_time
from attestlab.core.counting import plural

if TYPE_CHECKING:
    from attestlab.attestations.inbox.shapes import InboxItemOut
    from attestlab.protections.shapes import PortfolioOut, ProtectionOut


def draw_inbox_item(item: InboxItemOut) -> str:
    """Draw the card of an item of the inbox, without the link that shows its claims."""
    status = item.attestation_status.value
    rows = [
        CardRow("Issuer", item.issuer_name),
        CardRow("Delivered", write_time(item.created_at)),
        CardRow("State", f"{item.delivery_state}, {item.read_state}"),
        CardRow("Attestation", write_code(item.attestation_id)),
        CardRow("Id", write_code(item.id)),
    ]
    foot = join("Check it: ", write_code("item.verify()"), ". Keep it: ", write_code("item.bundle()"))
    return draw_card(tone_of_verdict(status), status, _name_item(item), rows, foot=foot)


def draw_protection(protection: ProtectionOut) -> str:
    """Draw the card of a protection, without the link that shows its claims."""
    status = protection.attestation_status.value
    rows = [
        CardRow("Seen by", protection.visibility),
        CardRow("Content", protection.content_hash and write_hash(protection.content_hash)),
        CardRow("Verified", f"{plural(protection.verification_count, 'time')}"),
        CardRow("Protected", write_time(protection.created_at)),
        CardRow("Id", write_code(protection.id)),
    ]
    foot = join("Is this file the same? ", write_code('protection.verify(file="photo.jpg")'))
    return draw_card(tone_of_verdict(status), status, protection.title, rows, foot=foot)


def draw_portfolio(portfolio: PortfolioOut) -> str:
    """Draw the card of a portfolio: its owner, its counts and its newest titles."""
    owner, found = portfolio.user, portfolio.protections
    rows = [
        CardRow("Username", owner.username),
        CardRow("About", owner.bio),
        CardRow("Protections", f"{len(found):,}"),
        CardRow("Verified", f"{plural(sum(each.verification_count for each in found), 'time')}"),
        *(CardRow(each.category, f"{each.title} ({each.attestation_status.value})") for each in found[:MAX_LINES]),
    ]
    foot = join("All as a frame: ", write_code("portfolio.df()"))
    return draw_card(CardTone.CALM, "PORTFOLIO", owner.name, rows, foot=foot)


def _name_item(item: InboxItemOut) -> str:
    """Name an item by the title that its issuer shows, or else by its schema."""
    title, schema = item.safe_metadata.get("title"), item.safe_metadata.get("schema")
    if isinstance(title, str) and title:
        return title
    return name_schema(schema) if isinstance(schema, str) else "Attestation"
