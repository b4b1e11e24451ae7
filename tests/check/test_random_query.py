"""The random queries are a function of their seed, and a wrong answer is noticed and made small."""

import pathlib
import random
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/sql"), str(ROOT / "tools")]

import random_query_test as test  # noqa: E402
import random_sql  # noqa: E402


class WrongAboutOuterJoins:
    """Two engines of which ours finds a row too many as soon as there is an outer join."""

    seed = 0
    tables = ()

    def duckdb_rows(self, sql):
        return []

    def batch(self, statements):
        wrong = {"columns": [{"name": "c0", "type": "INT"}], "rows": [[1]]}
        return [wrong if "LEFT JOIN" in sql else {"columns": [], "rows": []}
                for sql in statements]


def queries(seed, count):
    tables = random_sql.random_schema(random.Random(seed))
    generator = random_sql.Generator(seed, tables)
    return [generator.query() for _ in range(count)]


class RandomQueryTest(unittest.TestCase):
    def test_a_seed_makes_the_same_queries(self):
        texts = [str(query) for query in queries(7, 50)]
        self.assertEqual(texts, [str(query) for query in queries(7, 50)])
        self.assertGreater(len(set(texts)), 45)
        self.assertNotEqual(texts, [str(query) for query in queries(8, 50)])

    def test_every_production_is_used(self):
        text = "\n".join(str(query) for seed in range(60) for query in queries(seed, 30))
        for word in ("LEFT JOIN", "FULL JOIN", "GROUP BY", "HAVING", "DISTINCT", "UNION", "WITH",
                     "EXISTS", "NOT IN", "LIKE", "CASE", "coalesce", "nullif", "count(*)", "avg(",
                     "BETWEEN", "ORDER BY", "LIMIT", "OFFSET", "INTERVAL", "extract(", "max(",
                     "LATERAL", "WITH RECURSIVE", "EXCEPT ALL", "IS NOT DISTINCT FROM"):
            self.assertIn(word, text)

    def test_a_wrong_query_is_made_small_and_stays_wrong(self):
        pair = WrongAboutOuterJoins()
        found = [query for query in queries(3, 200) if "LEFT JOIN" in str(query)]
        self.assertGreater(len(found), 10)
        for query in found[:10]:
            small, fault = test.shrink(pair, query, "1 rows against 0")
            self.assertIn("LEFT JOIN", str(small))
            self.assertEqual(fault, "1 rows against 0")
            longest = 240 if "RECURSIVE" in str(small) else 160  # two terms and a bound
            self.assertLess(len(str(small)), longest, f"{small}\nwas {query}")
            self.assertNotIn("ORDER BY", str(small))

    def test_shrinking_does_not_wander_to_another_fault(self):
        self.assertEqual(test.kind_of("row 1, column a: 1 against 2"), test.kind_of("3 against 4"))
        self.assertNotEqual(test.kind_of("invalid argument: x"), test.kind_of("1 against 2"))
        self.assertNotEqual(test.kind_of("invalid argument: x"), test.kind_of("the program ended"))

    def test_rows_of_a_batch_are_those_alone(self):
        columns = [{"name": "a", "type": "INT"}]
        one = {"columns": columns, "rows": [[1], [None]]}
        self.assertTrue(test.same_rows(one, {"columns": columns, "rows": [[None], [1]]}))
        self.assertFalse(test.same_rows(one, {"columns": columns, "rows": [[1], [1]]}))
        self.assertFalse(test.same_rows(one, {"columns": columns, "rows": [[1]]}))
        self.assertFalse(test.same_rows(one, {"error": "no"}))


if __name__ == "__main__":
    unittest.main()
