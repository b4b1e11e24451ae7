"""tools/crash-test --soak notices memory and disk space that grow from life to life."""

import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/crash-test"


def crash_test():
    loader = importlib.machinery.SourceFileLoader("crash_test_tool", str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class CrashSoakTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tool = crash_test()

    def wrong(self, lives):
        with contextlib.redirect_stdout(io.StringIO()):
            return self.tool.what_grows(lives)

    def test_what_stays_is_right(self):
        lives = [(10_000_000, 1000 + i % 3, 500 + i % 2) for i in range(20)]
        self.assertEqual(self.wrong(lives), [])

    def test_what_grows_is_said(self):
        self.assertEqual(len(self.wrong([(10_000_000, 1000 + 100 * i, 500) for i in range(20)])), 1)
        self.assertEqual(len(self.wrong([(10_000_000, 1000, 500 + 100 * i) for i in range(20)])), 1)

    def test_short_lives_do_not_count(self):
        short = [(1_000_000, 10, 10)] * 10
        self.assertEqual(self.wrong(short + [(10_000_000, 1000, 500)] * 10), [])
        self.assertEqual(len(self.wrong(short)), 1)


if __name__ == "__main__":
    unittest.main()
