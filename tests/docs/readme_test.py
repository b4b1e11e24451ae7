#!/usr/bin/env python3
"""The README's examples are what the tree holds and print what the README says.

Usage: readme_test.py README QUICKSTART_SOURCE QUICKSTART_PROGRAM DIPTYCH_PROGRAM
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

from document import blocks, console_steps, section, without_times

README, QUICKSTART_SOURCE, QUICKSTART, DIPTYCH = (pathlib.Path(a).resolve() for a in sys.argv[1:5])


class ReadmeTest(unittest.TestCase):
    def setUp(self) -> None:
        self.blocks = blocks(section(README, "An example"))
        self.assertEqual([language for language, _ in self.blocks], ["cpp", "", ""])

    def test_the_code_is_the_quickstart(self) -> None:
        source = QUICKSTART_SOURCE.read_text()
        self.assertEqual(self.blocks[0][1], source[source.index("struct Account"):])

    def test_the_quickstart_prints_what_is_shown(self) -> None:
        done = subprocess.run([QUICKSTART], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, self.blocks[1][1])

    def test_the_commands_print_what_is_shown(self) -> None:
        steps = console_steps(self.blocks[2][1])
        ran = 0
        with tempfile.TemporaryDirectory() as folder:
            for command, shown in steps:
                if command.startswith("cat "):
                    (pathlib.Path(folder) / command.split()[1]).write_text(shown)
                    continue
                self.assertTrue(command.startswith("diptych "), command)
                done = subprocess.run(["bash", "-c", f'"{DIPTYCH}"' + command[len("diptych"):]],
                                      cwd=folder, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(without_times(done.stdout + done.stderr), without_times(shown))
                ran += 1
        self.assertEqual(ran, 4)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
