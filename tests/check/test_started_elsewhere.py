"""Relative paths in arguments of scripts that build first are of where the user stands, and so is
nothing of what the scripts themselves need."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"


class StartedElsewhereTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve() / "root"
        self.here = self.root / "some/where"
        self.here.mkdir(parents=True)
        (self.root / "tools").mkdir()
        # In the place of what builds, of Python and of clang-tidy.
        told = f"#!{sys.executable}\nimport os, sys\nprint(os.getcwd(), *sys.argv[1:], sep='|')\n"
        for path in ("bin/cmake", ".venv/bin/python", "bin/clang-tidy-16"):
            path = self.root / path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(told)
            path.chmod(0o755)

    def said(self, name, *arguments):
        """Where the program that the script runs last stands, and its arguments."""
        for file in (name, "steps.sh"):
            shutil.copy(TOOLS / file, self.root / "tools" / file)
        done = subprocess.run([f"../../tools/{name}", *arguments], cwd=self.here, text=True,
                              capture_output=True, check=True,
                              env={"PATH": f"{self.root / 'bin'}:/usr/bin:/bin"})
        return done.stdout.splitlines()

    def test_a_report_is_written_where_the_user_stands(self):
        for name, data in (("compare-duckdb", "compare"), ("compare-tpch", "tpch")):
            place, program, *arguments = self.said(name, "--json", "out.json")[-1].split("|")
            self.assertEqual(place, str(self.here))
            self.assertEqual(program, f"{self.root}/tools/{name.replace('-', '_')}.py")
            self.assertEqual(arguments, ["--program", f"{self.root}/build/release/diptych",
                                         "--folder", f"{self.root}/build/{data}",
                                         "--json", "out.json"])

    def test_a_source_is_looked_for_where_the_user_stands(self):
        lines = self.said("tidy", "a.cpp", str(self.root / "b.cpp"))
        files = {line.split("|")[-1] for line in lines if ".cpp" in line}
        self.assertEqual(files, {f"{self.here}/a.cpp", f"{self.root}/b.cpp"})

    def test_each_says_its_usage(self):
        for name in ("fuzz", "tidy"):
            self.assertIn(f"Usage: tools/{name}", "\n".join(self.said(name, "--help")))


if __name__ == "__main__":
    unittest.main()
