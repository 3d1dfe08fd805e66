"""The version of this package; a test compares it with that of the project file."""

VERSION = "0.1.0"
