"""tools/crash-test --soak notices memory and disk space that grow; and what it is asked for."""

import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import sys
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/crash-test"


def crash_test():
    loader = importlib.machinery.SourceFileLoader("crash_test_tool", str(TOOL))
    sys.path.insert(0, str(TOOL.parent))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


SECOND = 1_000_000
MIB = 2**20
EXTENT = 16 * MIB


def life(memory, disk):
    """Samples of 100 seconds, ten a second; memory and disk: from the second."""
    return [(i * SECOND // 10, memory(i / 10), disk(i / 10)) for i in range(1000)]


class CrashSoakTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tool = crash_test()

    def wrong(self, samples, closed=()):
        with contextlib.redirect_stdout(io.StringIO()):
            return self.tool.what_grows(samples, list(closed))

    def test_what_stays_is_right(self):
        # Memory is taken at first, and disk space for a while, now and then.
        samples = life(lambda s: 100 + min(s, 24) * 40,
                       lambda s: (500 + 300 * (s % 10 > 2)) * MIB)
        closed = [MIB * size for size in (500, 510, 900, 500, 600)]
        self.assertEqual(self.wrong(samples, closed * 2), [])
        self.assertEqual(self.wrong(samples, [MIB * 500, MIB * 900]), [])  # too few to tell

    def test_what_grows_is_said(self):
        stays = lambda s: 500
        self.assertIn("memory", self.wrong(life(lambda s: 1000 + 3 * s, stays))[0])
        grows = lambda s: (500 + 4 * s + s % 10) * MIB
        self.assertIn("disk", self.wrong(life(stays, grows))[0])
        closed = [MIB * size for size in (500, 900, 510, 900, 520, 700, 900, 710, 720, 900)]
        self.assertIn("closed", self.wrong(life(stays, stays), closed)[0])

    def test_a_step_of_the_files_is_no_growth(self):
        stays = lambda s: 500
        steps = lambda count: lambda s: 100 * MIB + (s >= 50) * count * EXTENT
        closed = lambda count: [steps(count)(s) for s in range(0, 100, 10)]
        for count in (1, 2, 3):
            self.assertEqual(self.wrong(life(stays, steps(count)), closed(count)), [], count)
        wrong = self.wrong(life(stays, steps(4)), closed(4))
        self.assertEqual([words.split(" grows")[0] for words in wrong],
                         ["disk", "disk when closed"])

    def test_steps_that_go_on_are_growth(self):
        stays = lambda s: 500
        steps = lambda s: 100 * MIB + s // 10 * EXTENT
        self.assertIn("disk", self.wrong(life(stays, steps))[0])
        closed = [steps(s) for s in range(0, 200, 10)]
        self.assertIn("closed", self.wrong(life(stays, stays), closed)[0])

    def test_a_short_life_may_still_take_memory(self):
        grows = life(lambda s: 1000 + 3 * s, lambda s: 500)
        self.assertEqual(self.wrong(grows[:500]), [])
        self.assertEqual(len(self.wrong(life(lambda s: 1000 + 20 * s, lambda s: 500)[:500])), 1)

    def test_few_samples_are_said(self):
        self.assertEqual(len(self.wrong(life(lambda s: 1, lambda s: 1)[:20])), 1)
        self.assertEqual(len(self.wrong([])), 1)

    def test_arguments_that_would_test_nothing_or_something_else_are_refused(self):
        for words in (["--rounds", "0"], ["--rounds", "-3"], ["--power-cut", "--soak"],
                      ["--soak", "--seconds", "59"]):
            with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as ended:
                self.tool.parse_arguments(words)
            self.assertEqual(ended.exception.code, 2, words)
        self.assertEqual(self.tool.parse_arguments(["--power-cut", "--rounds", "1"]).rounds, 1)


if __name__ == "__main__":
    unittest.main()
