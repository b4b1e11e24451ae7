#!/usr/bin/env python3
"""A few rounds of tools/crash-test find nothing, and a database that replies before its log is
written, that leaves out a sync, that tries a failed one again, or that does not look whether a
rename was done, is found out.

Usage: crash_test.py CRASH_TEST CRASH_ROUNDS BANK_LIBRARY POWER_CUT
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

CRASH_TEST, PROGRAM, LIBRARY, POWER_PROGRAM = sys.argv[1:5]


def run(*arguments: str) -> tuple[int, dict[str, int]]:
    # What a round that finds something leaves goes with the folder.
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([CRASH_TEST, "--program", PROGRAM, "--library", LIBRARY,
                               "--power-program", POWER_PROGRAM, *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=os.environ | {"TMPDIR": folder})
    print(done.stdout, end="")
    figures = re.findall(r"^(\w+): (\d+)$", done.stdout, re.MULTILINE)
    return done.returncode, {name: int(figure) for name, figure in figures}


def is_found(code: int, figures: dict[str, int]) -> bool:
    """Whether a run of power cuts came to an end, and found what it is to find."""
    if code not in (0, 1) or figures["rounds"] == 0:
        raise AssertionError(f"the rounds were not run: exit {code}, {figures}")
    found = sum(figures[name] for name in ("lost", "half_done", "replica_differences", "unusable"))
    if code != (found > 0):
        raise AssertionError(f"exit {code} beside {figures}")
    return found > 0


class CrashTest(unittest.TestCase):
    def test_nothing_is_lost(self) -> None:
        code, figures = run("--rounds", "6", "--workload", "bank")
        self.assertEqual(code, 0)
        self.assertGreater(figures.pop("acknowledged"), 0)
        self.assertEqual(figures, {"lost": 0, "half_done": 0, "replica_differences": 0})

    def test_nothing_of_tpcc_is_lost(self) -> None:
        code, figures = run("--rounds", "1", "--workload", "tpcc")
        self.assertEqual(code, 0)
        figures.pop("acknowledged")  # the kill may fall into the opening
        self.assertEqual(figures, {"lost": 0, "half_done": 0, "replica_differences": 0})

    def test_nothing_is_lost_where_the_power_goes(self) -> None:
        code, figures = run("--power-cut", "--rounds", "12")
        self.assertFalse(is_found(code, figures))
        self.assertEqual(figures["rounds"], 12)
        self.assertGreater(figures["acknowledged"], 0)
        self.assertGreater(figures["ring_operations"], 0)

    def test_a_missing_sync_is_found(self) -> None:
        for missing in ("log", "blocks", "manifest", "directory", "failed", "renames"):
            found = any(is_found(*run("--power-cut", "--rounds", "30", "--missing-sync", missing,
                                      "--seed", str(seed))) for seed in range(1, 4))
            self.assertTrue(found, missing)

    def test_replies_before_the_log_are_found(self) -> None:
        for seed in range(1, 6):
            code, figures = run("--rounds", "10", "--workload", "bank", "--reply-early",
                                "--seed", str(seed))
            if figures["lost"] > 0:
                self.assertEqual(code, 1)
                return
        self.fail("50 rounds found nothing")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
