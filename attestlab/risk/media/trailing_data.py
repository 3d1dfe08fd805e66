"""Data of another format behind the end of a picture, which makes one file two (a polyglot).

Phones append further pictures and films to a JPEG (multi-picture format, motion photos); those are no such data.
"""

from __future__ import annotations

_HEAD_BYTES = 1_024
_TAIL_BYTES = 66_000  # within which a ZIP archive has its end record
_ZIP_END = b"PK\x05\x06"
_STARTS = {
    b"PK\x03\x04": "ZIP",
    b"%PDF-": "PDF",
    b"\x7fELF": "ELF",
    b"MZ": "Windows program",
    b"Rar!": "RAR",
    b"7z\xbc\xaf": "7-Zip",
    b"<?php": "PHP",
    b"<!doctype html": "HTML",
    b"<html": "HTML",
    b"<script": "HTML",
}


def name_foreign_data(content: bytes, end: int | None) -> str | None:
    """Name the format of data that follows the end of a picture; None if there is none or it is unknown."""
    if end is None or end >= len(content):
        return None
    head = content[end : end + _HEAD_BYTES].lstrip(b"\0\r\n\t ")
    lowered = head[:16].lower()
    for start, name in _STARTS.items():
        if head.startswith(start) or lowered.startswith(start):
            return name
    return "ZIP" if _ZIP_END in content[max(end, len(content) - _TAIL_BYTES) :] else None
