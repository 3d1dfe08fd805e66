"""What ends the flags on a user's logins, for capabilities that learn that the user is who they claim to be."""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from attestlab.core.db.transaction import Transaction

ConfirmUser = Callable[[Transaction, UUID, str, datetime], None]
"""Ends the flags on the logins of a tenant's user until that moment."""
