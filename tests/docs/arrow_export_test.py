#!/usr/bin/env python3
"""docs/sql.md shows the Arrow example that the tree compiles, and what it prints.

Usage: arrow_export_test.py DOCUMENT SOURCE PROGRAM
"""

import pathlib
import subprocess
import sys
import unittest

from document import blocks

DOCUMENT, SOURCE, PROGRAM = (pathlib.Path(a).resolve() for a in sys.argv[1:4])


class ArrowExportTest(unittest.TestCase):
    def test_the_code_is_the_example_and_prints_what_is_shown(self) -> None:
        text = DOCUMENT.read_text()
        shown = blocks(text[text.index("## Results as Arrow"):text.index("### From Python")])
        self.assertEqual([language for language, _ in shown], ["cpp", ""])
        source = SOURCE.read_text()
        self.assertEqual(shown[0][1], source[source.index("int main()"):])
        done = subprocess.run([PROGRAM], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, shown[1][1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
