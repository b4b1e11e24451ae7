"""The random queries are a function of their seed, and a wrong answer is noticed and made small."""

import collections
import contextlib
import io
import pathlib
import random
import re
import sys
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/sql"), str(ROOT / "tools")]

import random_query_test as test  # noqa: E402
import random_sql  # noqa: E402


class WrongAboutOuterJoins:
    """Two engines of which ours finds a row too many as soon as there is an outer join."""

    seed = 0
    tables = ()
    views = ()
    view_ddl = ()

    def peer_answer(self, sql, seconds_max=None):
        return [], None

    def batch(self, statements, parameters=(), seconds_max=None):
        wrong = {"columns": [{"name": "c0", "type": "INT"}], "rows": [[1]]}
        return [wrong if "LEFT JOIN" in sql else {"columns": [], "rows": []}
                for sql in statements]


class WrongAboutPairs(WrongAboutOuterJoins):
    """Ours finds a row too many in a query with a GROUP BY that a LEFT JOIN is in the batch of."""

    def batch(self, statements, parameters=(), seconds_max=None):
        wrong, right = super().batch(["LEFT JOIN", ""])
        joined = any("LEFT JOIN" in sql for sql in statements)
        return [wrong if joined and "GROUP BY" in sql else right for sql in statements]


class EndsAtOuterJoins(WrongAboutOuterJoins):
    """Ours does not survive an outer join, or has no time left for it; the peer refuses it."""

    def __init__(self, result):
        self.result = result
        self.asked = []

    def peer_answer(self, sql, seconds_max=None):
        self.asked.append(sql)
        return None if "LEFT JOIN" in sql else ([], 0)

    def batch(self, statements, parameters=(), seconds_max=None):
        joined = ["LEFT JOIN" in sql for sql in statements]
        ended = any(joined) and test.has_ended(self.result)
        return [self.result if ended or one else {"columns": [], "rows": []} for one in joined]


class WrongAboutParameters(WrongAboutOuterJoins):
    def batch(self, statements, parameters=(), seconds_max=None):
        wrong, right = super().batch(["LEFT JOIN", ""])
        return [wrong if "$" in sql and "ab" in parameters else right for sql in statements]


def queries(seed, count):
    tables = random_sql.random_schema(random.Random(seed))
    generator = random_sql.Generator(seed, tables)
    return [generator.query() for _ in range(count)]


def joined_rows(query, tables):
    """How many rows the joins of tables by one equality each make; None where there is more."""
    rows = []  # by alias, the row
    for number, (how, source, alias, condition) in enumerate(query.tables):
        if source not in tables or how not in ("", "JOIN"):
            return None
        table = tables[source]
        own = [{f"{alias}.{column.name}": value for column, value in zip(table.columns, row)}
               for row in table.rows]
        if number == 0:
            rows = own
            continue
        sides = str(condition).split(" = ")
        if len(sides) != 2 or not all(re.fullmatch(r"x\d+\.\w+", side) for side in sides):
            return None
        by_value = collections.defaultdict(list)
        for row in own:
            by_value[row[sides[1]]].append(row)
        rows = [{**row, **other} for row in rows if row[sides[0]] is not None
                for other in by_value[row[sides[0]]]]
    return len(rows) if len(query.tables) > 1 else None


class RandomQueryTest(unittest.TestCase):
    def test_a_seed_makes_the_same_queries(self):
        texts = [str(query) for query in queries(7, 50)]
        self.assertEqual(texts, [str(query) for query in queries(7, 50)])
        self.assertGreater(len(set(texts)), 45)
        self.assertNotEqual(texts, [str(query) for query in queries(8, 50)])

    def test_every_production_is_used(self):
        text = "\n".join(str(query) for seed in range(20) for query in queries(seed, 90))
        for word in ("LEFT JOIN", "FULL JOIN", "GROUP BY", "HAVING", "DISTINCT", "UNION", "WITH",
                     "EXISTS", "NOT IN", "LIKE", "CASE", "coalesce", "nullif", "count(*)", "avg(",
                     "BETWEEN", "ORDER BY", "LIMIT", "OFFSET", "INTERVAL", "extract(", "max(",
                     "LATERAL", "WITH RECURSIVE", "OVER (PARTITION BY",
                     "GROUPS BETWEEN", "EXCEPT ALL", "IS NOT DISTINCT FROM", "DISTINCT ON (",
                     "GROUP BY ROLLUP(", "GROUP BY CUBE(", "GROUPING SETS ((", "grouping(",
                     "(VALUES (", "generate_series(", "USING (", "NATURAL JOIN", "CROSS JOIN",
                     "NOT ILIKE", "NOT SIMILAR TO", " !~ ", "date_trunc(", "row_number()",
                     "lag(", "lead(", " ROWS BETWEEN", " RANGE BETWEEN 3", "RANGE BETWEEN INTERVAL",
                     "string_agg(", "stddev(", "variance(", "round(", "greatest(", "least(",
                     "DESC NULLS FIRST"):
            self.assertIn(word, text)

    def test_joins_do_not_multiply_without_bound(self):
        """Counted by the tables' values: of inner joins of tables, by equalities alone."""
        checked = 0
        for seed in [*range(12), 77, 501, 1795413763]:
            draw = random.Random(seed)
            tables = {table.name: table for table in random_sql.random_schema(draw)}
            for query in queries(seed, 30):
                self.assertLessEqual(query.joined, random_sql.PAIRS_MAX)
                rows = joined_rows(query, tables)
                if rows is not None:
                    checked += 1
                    self.assertLessEqual(rows, random_sql.JOINED_MAX, str(query))
        self.assertGreater(checked, 20)

    def test_a_wrong_query_is_made_small_and_stays_wrong(self):
        pair = WrongAboutOuterJoins()
        found = [query for query in queries(3, 200) if "LEFT JOIN" in str(query)]
        self.assertGreater(len(found), 10)
        for query in found[:10]:
            (small,), _, fault = test.shrink(pair, [query], 0, "1 rows against 0")
            self.assertIn("LEFT JOIN", str(small))
            self.assertEqual(fault, "1 rows against 0")
            # A recursion has two terms and a bound, VALUES its rows.
            is_long = "RECURSIVE" in str(small) or "(VALUES (" in str(small)
            longest = 240 if is_long else 180
            self.assertLess(len(str(small)), longest, f"{small}\nwas {query}")
            self.assertEqual(small.order, [])

    def test_a_batch_with_a_wrong_query_is_made_small(self):
        batch = queries(3, 60)
        at = next(number for number, query in enumerate(batch) if number > 20 and
                  "GROUP BY" in str(query) and "LEFT JOIN" not in str(query))
        small, place, fault = test.shrink(WrongAboutPairs(), batch, at, "1 rows against 0")
        self.assertEqual(fault, "1 rows against 0")
        self.assertEqual(len(small), 2)
        self.assertIn("GROUP BY", str(small[place]))
        self.assertIn("LEFT JOIN", str(small[1 - place]))
        self.assertLess(sum(len(str(query)) for query in small), 400)
        _, _, fault = test.shrink(WrongAboutPairs(), batch[:at], at - 1, "the program ended")
        self.assertEqual(fault, "the program ended (once, in this batch)")

    def test_what_is_wrong_with_parameters_alone_is_made_small_with_them(self):
        batch = [query for query in queries(3, 200) if "'ab'" in str(query)]
        self.assertGreater(len(batch), 5)
        small, place, _ = test.shrink(WrongAboutParameters(), batch, 3, "1 rows against 0",
                                      test.with_parameters)
        self.assertEqual((len(small), place), (1, 0))
        self.assertIn("'ab'", str(small[0]))

    def test_literals_become_parameters_of_their_type(self):
        texts, values = test.with_parameters(
            ["SELECT 'it''s', DATE '2011-01-02', a + INTERVAL '1' DAY", "SELECT 'it''s' || ''"])
        self.assertEqual(texts, ["SELECT $1, CAST($2 AS DATE), a + INTERVAL '1' DAY",
                                 "SELECT $1 || $3"])
        self.assertEqual(values, ["it's", "2011-01-02", ""])

    def test_shrinking_does_not_wander_to_another_fault(self):
        self.assertEqual(test.kind_of("row 1, column a: 1 against 2"), test.kind_of("3 against 4"))
        self.assertNotEqual(test.kind_of("invalid argument: x"), test.kind_of("1 against 2"))
        self.assertNotEqual(test.kind_of("invalid argument: x"), test.kind_of("the program ended"))
        self.assertEqual(test.kind_of("the program ended: exit 1\n1 against 2"), test.ENDED)

    def test_rows_of_a_batch_are_those_alone(self):
        columns = [{"name": "a", "type": "INT"}]
        one = {"columns": columns, "rows": [[1], [None]]}
        self.assertTrue(test.same_rows(one, {"columns": columns, "rows": [[None], [1]]}))
        self.assertFalse(test.same_rows(one, {"columns": columns, "rows": [[1], [1]]}))
        self.assertFalse(test.same_rows(one, {"columns": columns, "rows": [[1]]}))
        self.assertFalse(test.same_rows(one, {"error": "no"}))
        self.assertFalse(test.same_rows(one, {"columns": columns, "rows": [[True], [None]]}))
        self.assertFalse(test.same_rows(one, {"columns": columns * 2, "rows": [[1], [None]]}))
        self.assertFalse(test.same_rows({"columns": columns, "rows": []},
                                        {"columns": columns * 2, "rows": []}))

    def test_rows_of_another_order_width_or_kind_are_noticed(self):
        query = next(query for query in queries(3, 200) if query.order)
        columns = [{"name": "a", "type": "INT"}]
        fault = lambda ours, theirs, width=1: test.fault_of(
            query, {"columns": columns, "rows": ours}, theirs, width)
        self.assertIsNone(fault([[1], [2]], [(1,), (2,)]))
        self.assertIn("order of row 0", fault([[1], [2]], [(2,), (1,)]))
        self.assertIn("1 columns against 2", fault([[1], [2]], [(1, 3), (2, 3)]))
        self.assertIn("1 columns against 2", fault([], [], 2))
        self.assertIn("1 against Truth.TRUE", fault([[1]], [(True,)]))


class RunTest(unittest.TestCase):
    """What a run says of results, and of itself."""

    def run_of(self, result, batch):
        pair = EndsAtOuterJoins(result)
        run = test.Run(None, mock.Mock(refusal=""))
        with contextlib.redirect_stdout(io.StringIO()) as said:
            run.check(pair, batch, random.Random(1))
        return run, pair, said.getvalue()

    def setUp(self):
        batch = queries(3, 60)
        joined = [query for query in batch if "LEFT JOIN" in str(query)]
        self.assertGreater(len(joined), 3)
        self.batch = [next(query for query in batch if query not in joined), *joined]

    def test_a_crash_on_what_the_peer_refuses_is_wrong(self):
        ended = {"error": f"{test.ENDED}: exit -11\ndiptych: unsupported: another one"}
        run, pair, said = self.run_of(ended, self.batch)
        self.assertEqual(len(run.wrong), 1)
        self.assertEqual(pair.asked, [])
        self.assertIn("exit -11", said)
        self.assertIn("LEFT JOIN", run.wrong[0][1])
        self.assertNotIn("once, in this batch", said)

    def test_what_takes_too_long_is_wrong_once_whatever_the_peer_says(self):
        late = {"error": "deadline exceeded", "sqlstate": test.TIME_OVER}
        run, _, said = self.run_of(late, self.batch)
        self.assertEqual(len(run.wrong), 1)
        self.assertIn("deadline exceeded", said)
        self.assertEqual(run.counts["compared"], 1)

    def test_another_error_of_what_the_peer_refuses_is_skipped(self):
        run, _, _ = self.run_of({"error": "ambiguous"}, self.batch)
        self.assertEqual(run.wrong, [])
        run, _, _ = self.run_of({"error": "unsupported: joins"}, self.batch)
        self.assertEqual(run.counts[test.UNSUPPORTED], len(self.batch) - 1)

    def test_a_fixed_run_that_skips_is_not_fine(self):
        fine = collections.Counter({"compared": 174, "with rows": 106})
        self.assertIsNone(test.what_is_missing(fine, 180))
        lacking = fine + collections.Counter({test.UNSUPPORTED: 1})
        self.assertIn("unsupported", test.what_is_missing(lacking, 180))
        self.assertIn("compared", test.what_is_missing(fine, 360))
        self.assertIn("with rows", test.what_is_missing(fine - collections.Counter(
            {"with rows": 80}), 180))
        self.assertIsNone(test.what_is_missing(lacking, None))
        self.assertIn("nothing", test.what_is_missing(collections.Counter(), None))


if __name__ == "__main__":
    unittest.main()
