"""Relative paths in arguments of scripts that build first are of where the user stands, and so is
nothing of what the scripts themselves need: they find it through a link too, or stop."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

COMPARISONS = ("compare-duckdb", "compare-tpch", "compare-tpcds")
SCRIPTS = ("test", "demo", "tidy", "fuzz", "install", *COMPARISONS)
IMPORTED = ("compare_duckdb.py", "compare_tpch.py", "compare_tpcds.py", "duckdb_peer.py",
            "ordered_answer.py", "process_group.py", "query_order.py", "side_by_side.py")
TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"


class StartedElsewhereTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve() / "root"
        self.here = self.root / "some/where"
        self.here.mkdir(parents=True)
        (self.root / "tools").mkdir()
        # In the place of what builds, of Python and of clang.
        told = f"#!{sys.executable}\nimport os, sys\nprint(os.getcwd(), *sys.argv[1:], sep='|')\n"
        for path in ("bin/cmake", ".venv/bin/python", "bin/clang-tidy-16", "bin/clang++-16"):
            path = self.root / path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(told)
            path.chmod(0o755)

    def run_from_here(self, path, *arguments, **environment):
        return subprocess.run([path, *arguments], cwd=self.here, text=True, capture_output=True,
                              env={"PATH": f"{self.root / 'bin'}:/usr/bin:/bin", **environment})

    def copy(self, *names):
        for name in names:
            shutil.copy(TOOLS / name, self.root / "tools" / name)

    def said(self, name, *arguments):
        """Where the program that the script runs last stands, and its arguments."""
        self.copy(name, "steps.sh")
        done = self.run_from_here(f"../../tools/{name}", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_what_is_no_option_is_refused_before_anything_is_built(self):
        self.copy(*IMPORTED)
        for name in (*COMPARISONS, "tidy"):
            self.copy(name, "steps.sh")
            done = self.run_from_here(f"../../tools/{name}", "--nope")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("--nope", done.stderr)
            self.assertEqual(done.stdout, "", "cmake, which prints what it is told, did not run")

    def test_a_report_is_written_where_the_user_stands(self):
        self.copy(*IMPORTED)
        for name, data in zip(COMPARISONS, ("compare", "tpch", "tpcds")):
            place, program, *arguments = self.said(name, "--json", "out.json")[-1].split("|")
            self.assertEqual(place, str(self.here))
            self.assertEqual(program, f"{self.root}/tools/{name.replace('-', '_')}.py")
            self.assertEqual(arguments, ["--program", f"{self.root}/build/release/diptych",
                                         "--folder", f"{self.root}/build/{data}",
                                         "--json", "out.json"])

    def test_what_cannot_be_installed_is_told_and_nothing_is_compared(self):
        self.copy(*IMPORTED, "compare-tpcds", "steps.sh", "requirements_tpcds.txt")
        python = self.root / "bin/python3"
        # One that makes an environment whose pip fails, and runs all else.
        python.write_text(f"#!/bin/sh\n[ \"$2\" = venv ] || exec {sys.executable} \"$@\"\n"
                          "mkdir -p \"$3/bin\"\nln -s \"$(command -v false)\" \"$3/bin/python\"\n")
        python.chmod(0o755)
        done = self.run_from_here("../../tools/compare-tpcds")
        self.assertEqual(done.returncode, 1)
        self.assertIn("could not install tools/requirements_tpcds.txt into build/tpcds/venv",
                      done.stderr)
        self.assertIn("Check that PyPI can be reached", done.stderr)
        self.assertNotIn("compare_tpcds.py", done.stdout)
        self.assertFalse((self.root / "build/tpcds/venv/stamp").exists())

    def test_a_source_is_looked_for_where_the_user_stands(self):
        lines = self.said("tidy", "a.cpp", str(self.root / "b.cpp"))
        files = {line.split("|")[-1] for line in lines if ".cpp" in line}
        self.assertEqual(files, {f"{self.here}/a.cpp", f"{self.root}/b.cpp"})

    def test_each_says_its_usage(self):
        for name in ("install", "demo", "fuzz", "tidy"):
            self.assertIn(f"Usage: tools/{name}", "\n".join(self.said(name, "--help")))

    def test_a_link_to_a_script_does_what_the_script_does(self):
        self.copy("test", "steps.sh")
        (self.here / "check").symlink_to(self.root / "tools/test")
        mine = self.here / "build/results/mine"
        mine.parent.mkdir(parents=True)
        mine.touch()
        done = self.run_from_here("./check", "--only", "bogus")
        self.assertEqual(done.returncode, 1)
        self.assertIn("tools/test: there is no step 'bogus'", done.stderr)
        self.assertIn("Usage: tools/test", self.run_from_here("./check", "--help").stdout)
        self.assertTrue(mine.exists())

    def test_each_stops_without_what_it_shares_with_the_others(self):
        (self.here / "build/results").mkdir(parents=True)
        for name in SCRIPTS:
            self.copy(name)
            done = self.run_from_here(f"../../tools/{name}", "--help")
            self.assertEqual((done.returncode, done.stdout), (1, ""), name)
            self.assertIn("steps.sh: No such file", done.stderr, name)
        self.assertTrue((self.here / "build/results").exists())

    def test_an_exported_cdpath_changes_nothing(self):
        self.copy("tidy", "steps.sh")
        for script, place in (("tools/tidy", self.root), ("./tidy", self.root / "tools")):
            self.here = place
            done = self.run_from_here(script, "a.cpp", CDPATH=f"{self.root}:/tmp")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"{place}/a.cpp", done.stdout)

    def test_steps_that_name_none_are_refused(self):
        self.copy("test", "steps.sh")
        for only in ("--only=", "--only=,", "--only=install venv"):
            done = self.run_from_here("../../tools/test", only)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("Steps: install", done.stderr)

    def test_a_folder_that_is_missing_is_not_taken_for_one_without_sources(self):
        self.copy("tidy", "steps.sh")
        (self.root / "base").mkdir()
        (self.root / "base/a.cpp").touch()
        done = self.run_from_here("../../tools/tidy")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("find could not look", done.stderr)

    def test_what_is_no_target_of_the_fuzzer_is_refused(self):
        self.copy("fuzz", "steps.sh")
        (self.root / "tests/fuzz").mkdir(parents=True)
        (self.root / "tests/fuzz/seeds.cpp").touch()
        for arguments in (["seeds"], ["no_fuzz"], []):
            done = self.run_from_here("../../tools/fuzz", *arguments)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("there is no target", done.stderr)


if __name__ == "__main__":
    unittest.main()
