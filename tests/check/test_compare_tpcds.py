"""How tools/compare-tpcds judges answers that are ordered and limited, and what becomes of its
data."""

import contextlib
import decimal
import io
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import compare_tpcds  # noqa: E402
import ordered_answer  # noqa: E402
import side_by_side  # noqa: E402

ORDERED = "select a, b from t order by a"
LIMITED = f"{ORDERED} limit 3"
DOUBLES = "select a, b from u order by a limit 2"
WHOLE = [(1, "x"), (2, "p"), (2, "q"), (2, "q"), (2, "r"), (3, "z")]


class Peer:
    """DuckDB, whose answers are known by the queries' texts."""

    description = ("a", "b")

    def __init__(self, answers):
        self.answers = {text.strip(): rows for text, rows in answers.items()}

    def execute(self, text):
        self.rows = self.answers.get(text.strip())  # none of SET and PREPARE
        return self

    def fetchall(self):
        return self.rows


class OrderedAnswerTest(unittest.TestCase):
    PEER = Peer({ORDERED: WHOLE, LIMITED: WHOLE[:3], DOUBLES: [(0.5, "x"), (0.75, "y")],
                 LIMITED.replace("by a", "by a, hidden"): WHOLE[:3],
                 "select a, b from t limit 3": WHOLE[:3], "select a, b from t": WHOLE})

    def judged(self, rows, text=LIMITED, types=("INT", "TEXT")):
        columns = [{"name": name, "type": kind} for name, kind in zip("ab", types)]
        return ordered_answer.ordered_difference(self.PEER, text,
                                                 {"columns": columns, "rows": rows})

    def test_rows_of_equal_keys_come_in_any_order(self):
        self.assertIsNone(self.judged(WHOLE, ORDERED))
        self.assertIsNone(self.judged([WHOLE[at] for at in (0, 4, 3, 1, 2, 5)], ORDERED))

    def test_rows_of_other_keys_do_not(self):
        self.assertIn("order of row 0", self.judged([WHOLE[at] for at in (1, 0, 2)]))
        self.assertIn("order of row 4", self.judged(WHOLE[:4] + WHOLE[:3:-1], ORDERED))

    def test_a_limit_may_keep_any_of_its_last_rows_of_equal_keys(self):
        for last in (("p", "q"), ("q", "q"), ("r", "q"), ("r", "p")):
            self.assertIsNone(self.judged([(1, "x"), *((2, name) for name in last)]), last)
        self.assertIsNone(self.judged([(3, "z"), (2, "r"), (1, "x")],
                                      "select a, b from t limit 3"))

    def test_a_limit_keeps_no_other_row(self):
        wrong = {"no row": [(1, "x"), (2, "p"), (2, "s")],
                 "comes too often": [(1, "x"), (2, "r"), (2, "r")],
                 "column b": [(1, "y"), (2, "p"), (2, "q")],
                 "order of row 2": [(1, "x"), (2, "q"), (3, "z")],
                 "2 rows against 3": [(1, "x"), (2, "p")]}
        for why, rows in wrong.items():
            self.assertIn(why, self.judged(rows))

    def test_without_a_limit_or_a_seen_key_rows_that_differ_are_no_tie(self):
        other = [(1, "x"), (2, "q"), (2, "r")]
        self.assertIsNone(self.judged(other))
        self.assertIn("no output column",
                      self.judged(other, LIMITED.replace("by a", "by a, hidden")))
        self.assertIn("column b", self.judged([*WHOLE[:5], (3, "y")], ORDERED))

    def test_keys_that_are_doubles_may_differ_in_their_last_digits(self):
        near, types = decimal.Decimal("0.5000000000001"), ("DOUBLE", "TEXT")
        self.assertIsNone(self.judged([(near, "x"), (0.75, "y")], DOUBLES, types))
        self.assertIn("order of row 0", self.judged([(0.75, "y"), (near, "x")], DOUBLES, types))

    def test_an_error_and_other_columns_are_differences(self):
        self.assertEqual(ordered_answer.ordered_difference(self.PEER, LIMITED, {"error": "no"}),
                         "no")
        one = {"columns": [{"name": "a", "type": "INT"}], "rows": [(1,), (2,), (2,)]}
        self.assertIn("1 columns against 2",
                      ordered_answer.ordered_difference(self.PEER, LIMITED, one))


class CompareTpcdsTest(unittest.TestCase):
    COLUMNS = [["inv_date_sk", "BIGINT", False], ["inv_item_sk", "INTEGER", True],
               ["inv_warehouse_sk", "INTEGER", True], ["inv_note", "VARCHAR", True]]

    def test_a_table_has_its_key_and_our_types(self):
        self.assertEqual(compare_tpcds.created("inventory", self.COLUMNS, "PRIMARY KEY"),
                         "CREATE TABLE inventory (inv_date_sk BIGINT NOT NULL, "
                         "inv_item_sk INTEGER NOT NULL, inv_warehouse_sk INTEGER NOT NULL, "
                         "inv_note TEXT, PRIMARY KEY (inv_date_sk, inv_item_sk, "
                         "inv_warehouse_sk))")
        self.assertEqual(compare_tpcds.created("item", [["i_item_sk", "BIGINT", True]]),
                         "CREATE TABLE item (i_item_sk BIGINT NOT NULL)")

    def test_the_data_is_gone_whatever_happens(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            program = mock.Mock(path=folder / "db")

            def fail_after_some(_, data):
                (data / "item.csv").touch()
                program.path.mkdir()
                raise KeyboardInterrupt

            with (mock.patch.object(compare_tpcds, "generated", fail_after_some),
                  self.assertRaises(KeyboardInterrupt),
                  compare_tpcds.loaded(program, None, 1, folder)):
                self.fail("it was loaded")
            self.assertEqual(list(folder.iterdir()), [])

    def test_a_generator_that_fails_ends_the_run(self):
        failed = subprocess.CompletedProcess([], 1, "")
        with (mock.patch.object(subprocess, "run", return_value=failed),
              self.assertRaisesRegex(SystemExit, "could not be made")):
            compare_tpcds.generated(1, pathlib.Path("data"))

    def test_queries_have_names_and_no_semicolons(self):
        text = '{"tables": {}, "queries": [[1, "select 1;\\n"], [99, "select 2\\n;\\n\\n"]]}'
        made = subprocess.CompletedProcess([], 0, text)
        with mock.patch.object(subprocess, "run", return_value=made):
            self.assertEqual(compare_tpcds.generated(1, pathlib.Path("data")),
                             ({}, [("q01", "select 1"), ("q99", "select 2")]))

    def test_an_answer_that_differs_is_not_measured_and_ends_the_run_with_1(self):
        columns = [{"name": name, "type": "INT"} for name in "ab"]
        answers = {ORDERED: WHOLE[:1], LIMITED: WHOLE[:1], DOUBLES: []}
        program = mock.Mock(query=lambda texts, threads=None: [
            {"columns": columns, "rows": answers[texts[0]], "execute_ms": 2}])
        peer = Peer({ORDERED: WHOLE[:1], LIMITED: WHOLE[:2], DOUBLES: []})
        with (mock.patch.dict(sys.modules, duckdb=mock.Mock(connect=lambda: peer)),
              mock.patch.object(side_by_side, "Program", return_value=program),
              mock.patch.object(side_by_side, "exit_when_terminated"),
              contextlib.redirect_stdout(io.StringIO()) as said,
              contextlib.redirect_stderr(io.StringIO()) as complained,
              self.assertRaises(SystemExit) as ended):
            options = compare_tpcds.parse_options(["--folder", "data", "--threads", "1"])
            queries = [("right", ORDERED), ("wrong", LIMITED), ("empty", DOUBLES)]
            side_by_side.run(options, lambda *_: contextlib.nullcontext(queries),
                             ordered_answer.ordered_difference)
        self.assertEqual(ended.exception.code, 1)
        self.assertIn("3 answers compared, 1 differ; without rows: empty\n", said.getvalue())
        self.assertEqual(re.findall(r"^(?:right|wrong|empty)", said.getvalue(), re.M),
                         ["right", "empty"])
        self.assertIn("WRONG, and not measured: wrong: 1 rows against 2", complained.getvalue())

    def test_a_scale_that_the_generator_does_not_end_with_is_refused(self):
        with contextlib.redirect_stderr(io.StringIO()) as told, self.assertRaises(SystemExit):
            compare_tpcds.parse_options(["--scale", "0.005"])
        self.assertIn("at least 0.01", told.getvalue())
        self.assertEqual(compare_tpcds.parse_options(["--scale", "0.01"]).scale, 0.01)

    def test_a_time_that_is_not_known_is_in_no_mean(self):
        slow = {"ours": 2.0, "duckdb": 8.0, "whole": 9.0}
        unknown = {"ours": 2.0, "duckdb": side_by_side.EXECUTION_MS_MIN, "whole": 5.0}
        with contextlib.redirect_stdout(io.StringIO()) as said:
            side_by_side.report(1, {"q1": slow, "q2": unknown})
        self.assertRegex(said.getvalue(), r"geometric mean +2\.00 +8\.00 +4\.0x")
        self.assertIn("the mean is without q2", said.getvalue())
        with contextlib.redirect_stdout(io.StringIO()) as said:
            side_by_side.report(1, {"q1": slow})
        self.assertNotIn("without", said.getvalue())


if __name__ == "__main__":
    unittest.main()
