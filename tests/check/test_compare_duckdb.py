"""How tools/compare-duckdb makes its tables of the times, and how answers are compared; what
tools/compare-tpch refuses."""

import contextlib
import decimal
import io
import itertools
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import compare_duckdb  # noqa: E402
import compare_tpch  # noqa: E402
import duckdb_peer  # noqa: E402
import side_by_side  # noqa: E402


def state(ours, theirs):
    """22 queries of so many milliseconds each, and one number of clients."""
    queries = {name: {"ours_ms": ours, "duckdb_ms": theirs, "ratio": theirs / ours}
               for name, _ in duckdb_peer.ch_queries()}
    sides = {"ours": [{"queries_per_second": 40.0, "p50_ms": 1.0, "p99_ms": 2.0}],
             "duckdb": [{"queries_per_second": 2.0, "p50_ms": 3.0, "p99_ms": 4.0, "cut_off": 1}]}
    figures = {"queries": queries, "clients": {16: compare_duckdb.loop_figures(sides)}}
    figures.update(compare_duckdb.means(queries))
    return {"aging": None, "answers_that_differ": {}, "problems": [], "threads": {2: figures}}


class CompareDuckdbTest(unittest.TestCase):
    def test_the_medians_of_both_sides_make_the_ratio(self):
        names = [name for name, _ in duckdb_peer.ch_queries()]
        figures = compare_duckdb.query_figures(
            {"ours": {name: [1.0, 9.0, 2.0] for name in names}, "duckdb": {"Q01": [6.0]}})
        self.assertEqual(figures["Q01"], {"ours_ms": 2.0, "duckdb_ms": 6.0, "ratio": 3.0})
        self.assertIsNone(figures["Q02"]["ratio"])

    def test_means_with_and_without_q05(self):
        queries = state(2.0, 4.0)["threads"][2]["queries"]
        queries["Q05"] = {"ours_ms": 2.0, "duckdb_ms": 4.0 * 2 ** 22, "ratio": None}
        means = compare_duckdb.means(queries)
        self.assertAlmostEqual(means["geometric_mean_without_q05"]["ratio"], 2.0)
        self.assertAlmostEqual(means["geometric_mean"]["ratio"], 4.0)

    def test_a_query_without_a_time_leaves_no_mean(self):
        queries = state(2.0, 4.0)["threads"][2]["queries"]
        queries["Q09"] = {"ours_ms": None, "duckdb_ms": 4.0, "ratio": None}
        self.assertIsNone(compare_duckdb.means(queries)["geometric_mean"]["ours_ms"])
        self.assertEqual(compare_duckdb.figure(None), "-")

    NEEDED = ["--program", "diptych", "--folder", "data", "--threads", "1"]

    def test_what_cannot_be_measured_is_refused_before_the_data_is_made(self):
        for words in (["--rounds", "0"], ["--seconds", "0"], ["--seconds", "nan"],
                      ["--warehouses", "0"], ["--threads", ""], ["--threads", "1000000"],
                      ["--clients", "0"], ["--query-limit", "-1"]):
            with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as ended:
                compare_duckdb.parse_options(self.NEEDED + words)
            self.assertEqual(ended.exception.code, 2, words)
        self.assertEqual(compare_duckdb.parse_options(self.NEEDED + ["--clients", ""]).clients, [])

    def test_a_slow_query_is_measured_warm_and_once(self):
        (slow, _), (cold, _), (quick, _), *_ = named = duckdb_peer.ch_queries()
        seconds = {slow: [9.0, 3.0], cold: [2.0, 0.5, 0.1, 0.2, 0.3]}
        texts = {text: name for name, text in named}
        peer = compare_duckdb.Duckdb.__new__(compare_duckdb.Duckdb)
        peer.slow, peer.use = {}, lambda threads: None
        peer.timed = lambda sql: 1e3 * seconds.get(texts[sql], [0.4] * 4).pop(0)
        times = peer.alone(1)
        self.assertEqual(times[slow], [3000.0])
        self.assertEqual(times[cold], [100.0, 200.0, 300.0])
        self.assertEqual(times[quick], [400.0] * compare_duckdb.PASSES)
        seconds = {}
        self.assertEqual(peer.alone(1)[slow], [3000.0])

    def test_a_client_of_duckdbs_that_fails_is_told(self):
        class Interrupted(Exception):
            pass

        peer = compare_duckdb.Duckdb.__new__(compare_duckdb.Duckdb)
        peer.use, peer.nations, peer.regions = (lambda threads: None), ["Japan"], ["Asia"]
        peer.duckdb = mock.Mock(InterruptException=Interrupted, Error=ValueError)
        cursors = [mock.Mock(**{"execute.side_effect": error})
                   for error in (None, ValueError("out of memory"), Interrupted)]
        peer.connection = mock.Mock(**{"cursor.side_effect": cursors})
        cell = peer.loop(1, 3, 0.01, 1)
        self.assertEqual(cell["failed"], ["DuckDB's client 1 of 3: out of memory"])
        self.assertEqual(cell["cut_off"], 1)
        self.assertGreater(cell["queries_per_second"], 0)

    def test_a_round_without_an_answer_costs_no_other_its_figures(self):
        some = {"queries_per_second": 4.0, "p50_ms": 1.0, "p99_ms": 2.0, "cut_off": 0}
        none = {"queries_per_second": 0.0, "p50_ms": None, "p99_ms": None, "cut_off": 2}
        figures = compare_duckdb.loop_figures({"ours": [], "duckdb": [some, none]})
        self.assertEqual(figures["duckdb"], {**some, "queries_per_second": 2.0, "cut_off": 2})
        self.assertEqual(set(figures["ours"].values()) | {figures["ratio"]}, {None})

    def test_no_timer_outlives_what_it_limits(self):
        interrupted = []
        connection = mock.Mock(interrupt=lambda: interrupted.append(1))
        before = threading.active_count()
        with self.assertRaises(ValueError), compare_duckdb.limited(connection, 60):
            raise ValueError
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer):
                thread.join(10)
        self.assertEqual((threading.active_count(), interrupted), (before, []))

    def test_the_data_is_gone_whatever_happens(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            options = mock.Mock(folder=folder, program="diptych")
            for failing in ("Duckdb", "compare_answers"):
                ours = mock.Mock(keep=lambda path: path.mkdir() or {"aging": None})
                with (mock.patch.object(compare_duckdb, "Duckdb"),
                      mock.patch.object(compare_duckdb, "say"),
                      mock.patch.object(compare_duckdb, failing, side_effect=KeyboardInterrupt),
                      self.assertRaises(KeyboardInterrupt)):
                    compare_duckdb.copy_of_data(options, ours, "fresh")
                self.assertEqual(list(folder.iterdir()), [])

    def test_an_export_that_fails_says_why_and_leaves_no_file(self):
        with tempfile.TemporaryDirectory() as name:
            csv = pathlib.Path(name) / "a.csv"
            program = mock.Mock(binary="/bin/ls", path="/nowhere")
            with self.assertRaisesRegex(RuntimeError, "select 1: exit 1(.|\n)*invalid argument"):
                with compare_duckdb.exported(program, "select 1", csv):
                    self.fail("it was exported")
            self.assertFalse(csv.exists())

    def test_a_path_with_a_quote_is_one_literal(self):
        connection = mock.Mock()
        duckdb_peer.copy_csv(connection, "t", pathlib.Path("/a'b/t.csv"))
        self.assertIn("from '/a''b/t.csv' (", connection.execute.call_args.args[0])

    def test_the_tables_hold_every_query_and_client_and_what_aging_costs(self):
        report = {"warehouses": 1, "rounds": 1, "duckdb_version": "0",
                  "states": {"fresh": state(2.0, 4.0), "aged": state(3.0, 4.0)}}
        text = compare_duckdb.tables(report)
        self.assertIn("| Q22 | 2.0 | 4.0 | 2.00 |", text)
        self.assertIn("| without Q05 | 2.0 | 4.0 | 2.00 |", text)
        self.assertIn("| 16 | 40.0 | 2.0 (1 cut off) | 20.0 | 1.0, 2.0 | 3.0, 4.0 |", text)
        self.assertIn("| geometric mean | 2 | 1.50 | 1.00 |", text)

    def test_a_problem_and_a_wrong_answer_are_told(self):
        wrong = state(2.0, 4.0)
        wrong["answers_that_differ"] = {"Q03": "7 rows against 8"}
        wrong["problems"] = ["Q04: out of memory"]
        report = {"warehouses": 1, "rounds": 1, "duckdb_version": "0", "states": {"fresh": wrong}}
        text = compare_duckdb.tables(report)
        self.assertIn("ANSWER THAT DIFFERS: Q03: 7 rows against 8", text)
        self.assertIn("PROBLEM: Q04: out of memory", text)

    def test_a_run_of_ours_that_fails_without_a_problem_is_one(self):
        clean = {"cells": [], "unsupported_queries": {}, "violations": [], "differences": []}
        for more, wanted in (({"failure": None}, []),
                             ({"failure": "cannot save"}, ["ours failed: cannot save"]),
                             ({"failure": "x", "violations": ["C1"]}, ["C1"])):
            problems = []
            compare_duckdb.note_problems(clean | more, problems)
            self.assertEqual(problems, wanted)

    def test_answers_differ_by_rows_and_values_and_not_by_order(self):
        result = {"columns": [{"name": "a", "type": "INT"}, {"name": "b", "type": "DOUBLE"}],
                  "rows": [[1, decimal.Decimal("0.5")], [None, decimal.Decimal("1.5")]]}
        self.assertIsNone(duckdb_peer.difference(result, [(None, 1.5), (1, 0.5000000000001)]))
        self.assertIn("rows against", duckdb_peer.difference(result, [(1, 0.5)]))
        self.assertIn("column b", duckdb_peer.difference(result, [(None, 1.5), (1, 0.6)]))
        self.assertIn("column a", duckdb_peer.difference(result, [(0, 1.5), (1, 0.5)]))
        self.assertEqual(duckdb_peer.difference({"error": "no"}, []), "no")

    def test_answers_differ_by_how_many_columns_they_have(self):
        one = {"columns": [{"name": "a", "type": "INT"}], "rows": [[1]]}
        self.assertIsNone(duckdb_peer.difference(one, [(1,)], 1))
        self.assertIn("1 columns against 2", duckdb_peer.difference(one, [(1, 2)]))
        self.assertIn("1 columns against 0", duckdb_peer.difference(one, [()]))
        self.assertIn("2 columns against 1", duckdb_peer.difference(
            {**one, "columns": one["columns"] * 2}, [(1, 2)]))
        empty = {**one, "rows": []}
        self.assertIsNone(duckdb_peer.difference(empty, [], 1))
        self.assertIn("1 columns against 2", duckdb_peer.difference(empty, [], 2))

    def test_a_boolean_is_no_number(self):
        result = lambda value: {"columns": [{"name": "a", "type": "X"}], "rows": [[value], [None]]}
        for value in (True, False):
            number = int(value)
            self.assertIsNone(duckdb_peer.difference(result(value), [(None,), (value,)]))
            self.assertIn("column a", duckdb_peer.difference(result(value), [(None,), (number,)]))
            self.assertIn("column a", duckdb_peer.difference(result(number), [(None,), (value,)]))
            self.assertIn("column a",
                          duckdb_peer.difference(result(value), [(None,), (not value,)]))
            self.assertFalse(duckdb_peer.equal(value, number, True))

    def test_a_template_gets_one_value_for_one_name(self):
        text = duckdb_peer.template_text("[PRICE] and [PRICE] + 10, [CHAR1]", random.Random(1))
        low, high = text.split(",")[0].split(" and ")
        self.assertEqual(high, f"{low} + 10")
        self.assertNotIn("[", text)


class BatchResultsTest(unittest.TestCase):
    RIGHT = '[{"columns": [], "rows": [[0.5]]}]\n'
    WRONG = '[{"error": "no"}]\n'
    BATCH = "diptych: no\nbatch: 2 statements, 1.25 ms\n"

    def results(self, code, stdout, stderr=BATCH):
        return duckdb_peer.batch_results(
            subprocess.CompletedProcess(["diptych"], code, stdout, stderr))

    def test_results_and_errors_are_taken(self):
        (result,) = self.results(0, self.RIGHT)
        self.assertEqual(result["rows"], [[decimal.Decimal("0.5")]])
        self.assertEqual(self.results(1, self.WRONG), [{"error": "no"}])
        self.assertEqual(self.results(1, self.WRONG, "diptych: no\n"), [{"error": "no"}])

    def test_what_ends_in_another_way_is_an_error_that_tells_why(self):
        for code, stdout in ((-11, self.RIGHT), (23, self.RIGHT), (1, self.RIGHT),
                             (-6, self.WRONG), (23, self.WRONG), (0, self.WRONG),
                             (0, ""), (2, ""), (0, self.RIGHT[:-4])):
            with self.assertRaisesRegex(RuntimeError, f"exit {code}(.|\n)*batch: 2 statements"):
                self.results(code, stdout)

    def test_a_complaint_after_the_results_is_an_error(self):
        for complaint in ("diptych: cannot save", "==1==ERROR: LeakSanitizer: detected leaks"):
            for code, stdout in ((0, self.RIGHT), (1, self.WRONG)):
                with self.assertRaisesRegex(RuntimeError, complaint):
                    self.results(code, stdout, f"{self.BATCH}{complaint}\n")
        with self.assertRaisesRegex(RuntimeError, "overflow"):
            self.results(0, self.RIGHT, f"a.cpp:1:2: runtime error: overflow\n{self.BATCH}")


class FailsAt:
    """A program, or DuckDB: both answer a query by its text, and ours not this one."""

    description = ("a",)

    def __init__(self, failing=None, error=None):
        self.failing, self.error = failing, error

    def query(self, statements, threads=None):
        if statements[0] == self.failing and self.error is None:
            raise RuntimeError("exit -11")
        right = {"columns": [{"name": "a", "type": "INT"}], "rows": [[1]], "execute_ms": 2}
        return [{"error": self.error} if statements[0] == self.failing else right]

    def execute(self, text):
        return self

    def fetchall(self):
        return [(1,)]


class CompareTpchTest(unittest.TestCase):
    def test_a_query_that_fails_costs_no_other_its_figures(self):
        (name, text), *others = queries = compare_tpch.queries()
        for program in (FailsAt(text), FailsAt(text, "no such table")):
            wrong, empty = side_by_side.compare(queries, program, FailsAt())
            self.assertEqual((list(wrong), empty), ([name], []))
            for known in (wrong, {}):  # already, or since it was compared
                # The first of each pair is a query's, and the other that of its PREPARE.
                with mock.patch.object(side_by_side, "timed", side_effect=itertools.cycle([3, 1])):
                    times = side_by_side.measure(queries, program, FailsAt(), 1, 2, known)
                self.assertEqual(list(times), [other for other, _ in others])
                self.assertEqual(list(known), [name])
                self.assertEqual({of["ours"] for of in times.values()}, {2.0})
        with contextlib.redirect_stdout(io.StringIO()) as said:
            side_by_side.report(1, times)
            side_by_side.report(1, {})
        self.assertEqual(said.getvalue().count("geometric mean"), 1)

    def test_the_data_is_gone_whatever_happens(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            program = mock.Mock(path=folder / "db")

            def fail_after_some(_, known):
                compare_tpch.csv_of("region", known).touch()
                program.path.mkdir()
                raise KeyboardInterrupt

            with (mock.patch.object(compare_tpch, "make_data"),
                  mock.patch.object(compare_tpch, "load_data", fail_after_some),
                  self.assertRaises(KeyboardInterrupt),
                  compare_tpch.loaded(program, None, 1, folder)):
                self.fail("it was loaded")
            self.assertEqual(list(folder.iterdir()), [])

    def test_a_peer_that_is_interrupted_has_given_no_answer(self):
        queries = compare_tpch.queries()
        peer = mock.Mock(execute=mock.Mock(side_effect=RuntimeError("Query interrupted")))
        with self.assertRaisesRegex(RuntimeError, "interrupted"):
            side_by_side.compare(queries, FailsAt(), peer)
        with self.assertRaisesRegex(RuntimeError, "interrupted"):
            side_by_side.measure(queries, FailsAt(), peer, 1, 2, {})

    NEEDED = ["--program", "diptych", "--folder", "data"]

    def test_what_cannot_be_measured_is_refused_before_the_data_is_made(self):
        for words in (["--threads", "0"], ["--threads", "x"], ["--threads", ""],
                      ["--rounds", "0"], ["--scale", "0"], ["--scale", "nan"]):
            with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as ended:
                compare_tpch.parse_options(self.NEEDED + words)
            self.assertEqual(ended.exception.code, 2, words)
        self.assertEqual(compare_tpch.parse_options(self.NEEDED + ["--threads", "2,4"]).threads,
                         [2, 4])


if __name__ == "__main__":
    unittest.main()
