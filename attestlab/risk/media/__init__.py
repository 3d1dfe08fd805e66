"""The media scan: marks of generation and alteration in pictures and films, as one explained heuristic score."""

from attestlab.risk.media.findings import SCAN_VERSION, MediaAssessment, ScanVerdict
from attestlab.risk.media.scanner import MediaScanner, scan

__all__ = ["SCAN_VERSION", "MediaAssessment", "MediaScanner", "ScanVerdict", "scan"]
