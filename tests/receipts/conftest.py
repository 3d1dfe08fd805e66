"""A tenant that mints receipts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from attestlab.installation import Installation
from support.receipts import ReceiptDesk, open_desk


@pytest.fixture
def desk(lab: Installation) -> Iterator[ReceiptDesk]:
    with open_desk(lab) as desk:
        yield desk
