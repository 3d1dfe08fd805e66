"""The `attestlab` command line; each module holds one group of commands.

Commands import late what they run, so that `attestlab --help` answers at once.
"""
