"""The demo installation, with sample data, that `attestlab demo` and the notebooks open."""
