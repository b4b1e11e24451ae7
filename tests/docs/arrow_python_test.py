#!/usr/bin/env python3
"""docs/sql.md shows the Python that reads results as Arrow, its library's query, what it prints.

Usage: arrow_python_test.py ROOT LIBRARY
"""

import os
import pathlib
import subprocess
import sys
import unittest

from document import blocks

ROOT, LIBRARY = (pathlib.Path(a).resolve() for a in sys.argv[1:3])


class ArrowPythonTest(unittest.TestCase):
    def test_the_code_is_the_example_and_prints_what_is_shown(self) -> None:
        text = (ROOT / "docs/sql.md").read_text()
        shown = blocks(text[text.index("### From Python"):])
        self.assertEqual([language for language, _ in shown], ["cpp", "python", ""])
        self.assertIn(shown[0][1], (ROOT / "docs/arrow_python.cpp").read_text())
        program = ROOT / "docs/arrow_python.py"
        source = program.read_text()
        self.assertEqual(shown[1][1], source[source.index("class Stream"):])
        done = subprocess.run([os.environ["DIPTYCH_VENV_PYTHON"], program, LIBRARY],
                              capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, shown[2][1])


if __name__ == "__main__":
    if not os.environ.get("DIPTYCH_VENV_PYTHON"):
        print("SKIPPED: DIPTYCH_VENV_PYTHON is not set (tools/test sets it)")
        sys.exit(0)
    unittest.main(argv=sys.argv[:1])
