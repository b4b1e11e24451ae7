#!/usr/bin/env python3
"""docs/own_project against an installed Diptych: it is built without the tree, and prints what
docs/stored-procedures.md shows.

Usage: installed_package_test.py ROOT BUILD_FOLDER CXX_COMPILER
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from document import blocks

ROOT, BUILD = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
COMPILER = sys.argv[3]
SOURCES = ["docs/own_project/CMakeLists.txt", "docs/stored_procedures.cpp",
           "examples/bank/bank.h", "examples/bank/bank.cpp", "examples/bank/schema.sql"]


class InstalledPackageTest(unittest.TestCase):
    def run_step(self, *command) -> str:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, f"{command}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def test_a_project_of_its_own(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            sources, prefix, build = (pathlib.Path(folder) / name
                                      for name in ("sources", "prefix", "build"))
            for name in SOURCES:
                (sources / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, sources / name)
            self.run_step("cmake", "--install", BUILD, "--prefix", prefix)
            self.run_step("cmake", "-S", sources / "docs/own_project", "-B", build, "-G", "Ninja",
                          f"-DCMAKE_CXX_COMPILER={COMPILER}", "-DCMAKE_BUILD_TYPE=Debug",
                          f"-DCMAKE_PREFIX_PATH={prefix}")
            self.run_step("cmake", "--build", build)
            self.assertNotIn(str(ROOT), (build / "build.ninja").read_text())
            printed = self.run_step(build / "own_program", sources / "examples/bank/schema.sql",
                                    build / "own_bank.so")
            (shown,) = [content for spoken, content in
                        blocks((ROOT / "docs/stored-procedures.md").read_text())
                        if spoken == "text"]
            self.assertEqual(printed, shown)
            self.run_step(prefix / "bin/diptych", "--version")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
