"""HTTP route of the media scan."""

from attestlab.core.db.transaction import Transaction
from attestlab.orgs.rules import Caller, Scope
from attestlab.risk.media.assessment import MediaAssessment
from attestlab.risk.media.service import MediaScans
from attestlab.risk.media.shapes import ScanIn, ScanOut
from attestlab.risk.shapes import FactorOut
from attestlab.web.request import Request
from attestlab.web.routing.routes import Routes

routes = Routes("risk")


async def _scan(request: Request, body: ScanIn, caller: Caller, scans: MediaScans) -> MediaAssessment:
    """Scan in a child process, before the write: it takes up to two seconds."""
    file = None if request.payload is None else request.payload.file
    return await scans.scanner.scan(
        caller.tenant_id,
        None if file is None else file.path,
        body.content_type,
        body.indicators,
        claimed_at=body.claimed_at,
        on_disconnect=request.on_disconnect,
    )


@routes.post("/v1/risk/deepfake/scan", scope=Scope.RISK_WRITE, prepare=_scan, content=True)
def scan_media(body: ScanIn, prepared: MediaAssessment, caller: Caller, scans: MediaScans, tx: Transaction) -> ScanOut:
    """Scan media for marks of generation and alteration; the result is heuristic and says what it cannot see.

    The file is read in a child process with limits of time and memory and is not stored. From a score of 60
    on it becomes a signal.
    """
    signal_id = scans.record(body.subject_ref, prepared, caller=caller, tx=tx)
    factors = [FactorOut.of(factor) for factor in prepared.factors]
    return ScanOut(
        score=prepared.score,
        verdict=prepared.verdict.value,
        factors=factors,
        signal_id=signal_id,
        details=dict(prepared.details),
    )
