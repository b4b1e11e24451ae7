"""The Python that has the packages of tools/requirements.txt."""

import os
import pathlib
import sys


def enter() -> bool:
    """Begins the program anew in the virtual environment, unless it runs there. False, with a line
    that says so, where there is none."""
    python = os.environ.get("DIPTYCH_VENV_PYTHON")
    if not python:
        print("SKIPPED: DIPTYCH_VENV_PYTHON is not set (tools/test makes a virtual environment "
              "with duckdb, psycopg and pyarrow, and sets it)")
        return False
    if os.path.realpath(sys.prefix) != os.path.realpath(pathlib.Path(python).parent.parent):
        os.execv(python, [python, *sys.argv])
    return True
