"""The entry of `attestlab`. A well-formed `verify` runs without typer, which takes longer to load than it to verify."""

from __future__ import annotations

import sys

from attestlab.cli.unforeseen import end_without_verdict
from attestlab.core.standard_output import exit_on_lost_output


def main() -> None:
    """Run the command line; only a command that reached a verdict ends with its status."""
    is_verify = sys.argv[1:2] == ["verify"]
    with exit_on_lost_output(), end_without_verdict(as_json=is_verify and "--json" in sys.argv):
        if is_verify and "--help" not in sys.argv:
            from attestlab.cli import verify as verify_command

            code = verify_command.command(sys.argv[2:])
            if code is not None:
                sys.exit(code)
        from attestlab.cli.commands import app

        app(prog_name="attestlab")


if __name__ == "__main__":
    main()
