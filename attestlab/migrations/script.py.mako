"""${message}.

Revision ${up_revision}, made ${create_date.date()}, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

% if upgrades != "pass":
import sqlalchemy as sa
% endif
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
% if guards:

# What keeps the log append-only, by dialect; `attestlab.log.tables` says why.
GUARDS = {
% for dialect, statements in guards.items():
    ${repr(dialect)}: (
% for pieces in statements:
        (
% for piece in pieces:
            ${repr(piece)}
% endfor
        ),
% endfor
    ),
% endfor
}
% endif


def upgrade() -> None:
    """${message}."""
    ${"\n".join(line for line in upgrades.splitlines() if not line.strip().startswith("# ###")).strip()}
% if guards:
    for statement in GUARDS[op.get_bind().dialect.name]:
        op.execute(statement)
% endif
