"""The command line: one file for each group of commands.

    argv -> root (click) -> a command -> the engine -> terminal (for people) or emit (for programs)
                         `-> failures: what went wrong, in words or as JSON, and the exit code

Commands return their exit code. What is slow to import (DuckDB, rich, the model) is imported by the command that
needs it.
"""

from holdstill.cli.root import main

__all__ = ["main"]
