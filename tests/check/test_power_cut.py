"""tools/crash-test --power-cut says whether it looked at all, and its test takes nothing else for
a find."""

import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLEAN = {"rounds": 5, "undecided": 7, "refused": 0, "acknowledged": 9, "lost": 0, "half_done": 0,
         "replica_differences": 0, "unusable": 0}


def crash_test():
    spec = importlib.util.spec_from_file_location("crash_test", ROOT / "tests/crash/crash_test.py")
    module = importlib.util.module_from_spec(spec)
    with mock.patch.object(sys, "argv", ["crash_test.py", "tool", "rounds", "library", "power"]):
        spec.loader.exec_module(module)
    return module


class PowerCutTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.test = crash_test()

    def run_tool(self, ending, figures):
        """Beside a program that prints these figures, and ends so."""
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "power_cut"
            said = "".join(f"{name}: {figure}\n" for name, figure in figures.items())
            program.write_text(f"#!{sys.executable}\nimport os, signal\n"
                               f"print({said!r}, end='', flush=True)\n{ending}\n")
            program.chmod(0o755)
            done = subprocess.run([ROOT / "tools/crash-test", "--power-cut", "--power-program",
                                   program], stdout=subprocess.PIPE, text=True)
        return done.returncode, done.stdout.splitlines()

    def test_what_kept_the_program_from_looking_is_passed_on(self):
        self.assertEqual(self.run_tool("os._exit(0)", CLEAN)[0], 0)
        self.assertEqual(self.run_tool("os._exit(1)", CLEAN | {"lost": 1})[0], 1)
        self.assertEqual(self.run_tool("os._exit(2)", {})[0], 2)
        self.assertEqual(self.run_tool("os.kill(os.getpid(), signal.SIGSEGV)", {})[0], 128 + 11)

    def test_the_last_lines_are_the_figures_of_all_crash_tests(self):
        _, lines = self.run_tool("os._exit(1)", CLEAN | {"half_done": 2, "unusable": 1})
        self.assertEqual(lines[-6:], ["rounds: 5", "unusable: 1", "acknowledged: 9", "lost: 0",
                                      "half_done: 2", "replica_differences: 0"])

    def test_only_what_is_found_in_rounds_that_were_run_is_a_find(self):
        self.assertFalse(self.test.is_found(0, CLEAN))
        for name in ("lost", "half_done", "replica_differences", "unusable"):
            self.assertTrue(self.test.is_found(1, CLEAN | {name: 1}))
        for code, figures in ((2, {}), (2, CLEAN | {"lost": 1}), (139, CLEAN), (1, CLEAN),
                              (1, CLEAN | {"rounds": 0, "lost": 1}), (0, CLEAN | {"lost": 1})):
            with self.assertRaises(AssertionError):
                self.test.is_found(code, figures)


if __name__ == "__main__":
    unittest.main()
