"""How good a detection of account takeover is on labelled logins: its scores, plain baselines, and measures of both."""
