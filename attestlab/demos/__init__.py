"""The demo installation, with sample data, that `attestlab demo` and the notebooks open."""

from typing import Final

DEFAULT_SEED: Final = 7
