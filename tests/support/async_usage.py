"""What a client of `attestlab.connect_async` writes; mypy checks its types, and a test runs it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, assert_type
from uuid import UUID

import attestlab
from attestlab.client.handles.attestations import VerificationHandle
from attestlab.client.handles.bundles import OfflineVerificationHandle
from attestlab.client.handles.log import TreeHeadHandle

if TYPE_CHECKING:
    import pandas as pd

    from attestlab.client.asynchronous import typed_lab  # noqa: F401  named in the types below

CLAIMS = {"student_name": "Ada Lovelace", "institution": "University of London"}


async def mint_and_verify(url: str, api_key: str) -> list[UUID]:
    """Mint as a new issuer, verify, look around; the ids of the tenant's attestations."""
    async with attestlab.connect_async(url, api_key) as lab:
        issuer = assert_type(await lab.issuers.create("Typed", "typed.example"), "typed_lab.AsyncIssuer")
        minted = assert_type(
            await lab.mint(b"a file", issuer=issuer, schema="degree", claims=CLAIMS), "typed_lab.AsyncMint"
        )
        verified, head = await asyncio.gather(minted.verify(file=b"a file"), lab.log.head())
        assert_type(verified, VerificationHandle)
        assert_type(head, TreeHeadHandle)
        offline = assert_type(await (await minted.bundle()).verify(), OfflineVerificationHandle)
        found = assert_type(await lab.issuers[issuer.id], "typed_lab.AsyncIssuer")
        assert (verified.verdict, offline.valid, found.name) == ("VALID", True, "Typed")
        return [each.id async for each in lab.attestations]


async def read_rows(url: str, api_key: str) -> int:
    """Read rows in the ways that an analyst has; their number."""
    lab = await attestlab.connect_async(url, api_key)
    rows = assert_type(lab.sql("select name from issuers"), "typed_lab.AsyncRows")
    newest = assert_type(await lab.attestations[:1], "list[typed_lab.AsyncAttestation]")
    frame: pd.DataFrame = await lab.attestations.df()
    assert await rows.columns == ["name"]
    assert [each["name"] async for each in rows] == ["Typed"]
    assert len(newest) == len(frame)
    count = await lab.issuers.count()
    await lab.close()
    return count
