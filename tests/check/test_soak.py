"""tools/soak notices each thing that must not be: its judgement, on made-up runs."""

import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import sys
import unittest
from unittest import mock

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/soak"


def soak():
    loader = importlib.machinery.SourceFileLoader("soak", str(TOOL))
    sys.path.insert(0, str(TOOL.parent))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("soak", loader))
    loader.exec_module(module)
    return module


GOOD = {"consistency_violations": 0, "replica_differences": 0, "calls_failed": 0,
        "interrupted": False, "transactions_per_second": 1000.0}


class SoakTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.soak = soak()

    def test_a_run_without_a_fault_holds(self):
        self.assertEqual(self.soak.what_is_wrong(0, GOOD), [])
        self.assertEqual(self.soak.what_grows(0.04, 0.09), [])

    def test_each_fault_is_said(self):
        for key, value in {"consistency_violations": 1, "replica_differences": None,
                           "calls_failed": 2, "interrupted": True,
                           "transactions_per_second": None}.items():
            with self.subTest(key):
                self.assertEqual(len(self.soak.what_is_wrong(0, GOOD | {key: value})), 1)
        self.assertEqual(len(self.soak.what_is_wrong(1, GOOD)), 1)
        self.assertEqual(len(self.soak.what_grows(None, 0)), 1)
        self.assertEqual(len(self.soak.what_grows(0.06, 0)), 1)
        self.assertEqual(len(self.soak.what_grows(0, 0.11)), 1)

    def judged(self, short, long):
        """What is wrong, of two runs: exit code and what their reports have beside GOOD."""
        samples = [(at, 1000) for at in range(60)]
        more = {"load_seconds": 1.0, "measured_seconds": 20.0, "oltp_bytes": 10, "olap_bytes": 10}
        runs = [(code, GOOD | more | found, samples) for code, found in (short, long)]
        with (mock.patch.object(self.soak, "run", side_effect=runs),
              contextlib.redirect_stdout(io.StringIO())):
            return self.soak.judge(1, 2, 20)

    def test_the_short_run_has_to_hold_too(self):
        self.assertEqual(self.judged((0, {}), (0, {})), [])
        for fault in ((1, {}), (0, {"consistency_violations": 3})):
            self.assertEqual(len(self.judged((0, {}), fault)), 1)
            (words,) = self.judged(fault, (0, {}))
            self.assertIn("the short run", words)

    def test_growth_is_that_of_the_window_alone(self):
        loading = [(at, 10 * at) for at in range(10)]
        flat = [(at, 1000) for at in range(10, 60)]
        leaking = [(at, 1000 + 10 * at) for at in range(10, 60)]
        after = [(at, 5000) for at in range(60, 70)]
        self.assertEqual(self.soak.resident_growth(loading + flat + after, 10, 59), 0)
        self.assertGreater(self.soak.resident_growth(loading + leaking + after, 10, 59), 0.3)
        self.assertIsNone(self.soak.resident_growth(loading + flat, 10, 15))


if __name__ == "__main__":
    unittest.main()
