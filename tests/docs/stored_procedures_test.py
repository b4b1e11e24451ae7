#!/usr/bin/env python3
"""docs/stored-procedures.md shows code that the tree compiles, and what it prints.

Usage: stored_procedures_test.py ROOT CALLER_PROGRAM DIPTYCH_PROGRAM BANK_LIBRARY
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from document import blocks, console_steps, without_times

ROOT, CALLER, DIPTYCH, BANK = (pathlib.Path(a).resolve() for a in sys.argv[1:5])
DOCUMENT = ROOT / "docs/stored-procedures.md"
SOURCES = ["examples/bank/schema.sql", "examples/bank/bank.h", "examples/bank/bank.cpp",
           "docs/stored_procedures.cpp", "examples/bank/CMakeLists.txt",
           "docs/own_project/CMakeLists.txt"]


def lines_of(text: str) -> list[str]:
    """Without indentation, which a document may take away."""
    return [line.strip() for line in text.splitlines()]


class StoredProceduresTest(unittest.TestCase):
    def setUp(self) -> None:
        self.blocks = blocks(DOCUMENT.read_text())

    def of(self, language: str) -> list[str]:
        return [content for spoken, content in self.blocks if spoken == language]

    def test_the_code_is_in_the_tree(self) -> None:
        sources = {name: lines_of((ROOT / name).read_text()) for name in SOURCES}
        shown = self.of("cpp") + self.of("sql") + self.of("cmake")
        self.assertGreaterEqual(len(shown), 10)
        for block in shown:
            wanted = lines_of(block)
            found = any(lines[i:i + len(wanted)] == wanted for lines in sources.values()
                        for i in range(len(lines)))
            self.assertTrue(found, f"in none of {SOURCES}:\n{block}")

    def test_the_caller_prints_what_is_shown(self) -> None:
        done = subprocess.run([CALLER, ROOT / "examples/bank/schema.sql", BANK],
                              capture_output=True, text=True, check=True)
        self.assertEqual([done.stdout], self.of("text"))

    def test_the_commands_print_what_is_shown(self) -> None:
        (session,) = self.of("console")
        ran = 0
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(BANK, pathlib.Path(folder) / "bank.so")
            shutil.copy(ROOT / "examples/bank/schema.sql", folder)
            for command, shown in console_steps(session):
                self.assertTrue(command.startswith("diptych "), command)
                done = subprocess.run(["bash", "-c", f'"{DIPTYCH}"' + command[len("diptych"):]],
                                      cwd=folder, capture_output=True, text=True)
                self.assertEqual(without_times(done.stdout + done.stderr), without_times(shown))
                ran += 1
        self.assertGreaterEqual(ran, 5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
