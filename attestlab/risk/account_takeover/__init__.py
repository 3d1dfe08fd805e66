"""Evaluation of logins as they happen: the detector of `risk.logins` over documents in the records."""
