#!/usr/bin/env python3
"""docs/operations.md: its sessions print what it shows, and its messages are the program's.

Usage: operations_test.py ROOT DIPTYCH_PROGRAM
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from document import blocks, console_steps, section, without_times

ROOT, DIPTYCH = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
DOCUMENT = ROOT / "docs/operations.md"
FOLDERS = ["dispatcher", "oltp", "storage"]
VARIABLE = re.compile(r'PATH/?|"P"|-N\.dtl|\bN transactions\b|\b[NM]\b|, ')  # what differs


def without_figures(text: str) -> str:
    return re.sub(r"\b\d+ bytes\b", "N bytes", without_times(text))


class OperationsTest(unittest.TestCase):
    def test_the_commands_print_what_is_shown(self) -> None:
        ran = 0
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            shop = blocks(section(ROOT / "README.md", "An example"))[2][1]
            for command, shown in console_steps(shop):
                if command.startswith("cat "):
                    (folder / command.split()[1]).write_text(shown)
            (folder / "bin").mkdir()
            (folder / "bin/diptych").symlink_to(DIPTYCH)
            environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}
            for language, session in blocks(DOCUMENT.read_text()):
                if language != "console":
                    continue
                for command, shown in console_steps(session):
                    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment,
                                          capture_output=True, text=True)
                    self.assertEqual(without_figures(done.stdout + done.stderr),
                                     without_figures(shown), command)
                    ran += 1
        self.assertGreaterEqual(ran, 8)

    def test_the_messages_are_the_programs(self) -> None:
        sources = "".join(path.read_text() for folder in FOLDERS
                          for path in (ROOT / folder).rglob("*.cpp"))
        sources = re.sub(r'"\s*"', "", sources).replace('\\"', '"')
        refusals = section(DOCUMENT, "When a database does not open")
        rows = re.findall(r"^\| (`.*?) \| ", refusals, re.M)
        self.assertGreaterEqual(len(rows), 9)
        for quoted in re.findall(r"`([^`]+)`", "".join(rows)):
            for part in VARIABLE.split(re.sub("^(corrupt|in use): ", "", quoted)):
                part = part.strip(' ":')
                self.assertTrue(part in sources, f'"{part}" of "{quoted}"')


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
