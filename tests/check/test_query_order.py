"""The output columns that a query orders by are found, whatever way it names them."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from duckdb_peer import ch_queries  # noqa: E402
from query_order import order_columns  # noqa: E402

NAMES = ["a", "total", "c"]


class QueryOrderTest(unittest.TestCase):
    def columns(self, items, select="select t.a, sum(b) as total, mod(c, 2)", names=NAMES):
        return order_columns(f"{select} from t where x = 'order by q' {items}", names)

    def test_names_positions_and_expressions_are_found(self):
        self.assertEqual(self.columns("order by total desc, 1"), [1, 0])
        self.assertEqual(self.columns("ORDER BY Sum( B ) DESC NULLS LAST, mod(c,2), t.a limit 3"),
                         [1, 2, 0])
        self.assertEqual(self.columns("order by sum(t.b) asc offset 2"), [1])
        self.assertEqual(self.columns("order by a + 1, total"), ["a + 1", 1])
        self.assertEqual(self.columns("order by hidden, a"), ["hidden", 0])
        self.assertEqual(self.columns("group by a"), [])

    def test_a_name_without_an_as_is_no_part_of_its_expression(self):
        select = "select t.a x, sum(b) Total, c"
        self.assertEqual(self.columns("order by t.a, sum(b), t.c", select, ["x", "Total", "c"]),
                         [0, 1, 2])
        self.assertEqual(self.columns("order by x.c", "select a.c, x.c", ["c", "c"]), [1])

    def test_only_the_last_order_counts(self):
        window = "select a, sum(b) over (order by c), c"
        self.assertEqual(self.columns("", window, ["a", "s", "c"]), [])
        self.assertEqual(self.columns("order by 3", window, ["a", "s", "c"]), [2])
        self.assertEqual(order_columns("with v as (select z from t order by z) select y as x "
                                       "from v union select 1 order by x", ["x"]), [0])

    def test_select_lists_of_all_kinds_are_read(self):
        self.assertEqual(self.columns("order by b, a", "select distinct on (a, b) a, b, c",
                                      ["a", "b", "c"]), [1, 0])
        select = "select a is distinct from b, extract(year from c), c"
        self.assertEqual(self.columns("order by c, extract(year from t.c)", select,
                                      ["x", "y", "c"]), [2, 1])
        self.assertEqual(self.columns("order by total, b + 1", "select *"), [1, "b + 1"])

    def test_every_ch_query_orders_by_its_columns(self):
        orders = {"Q03": [3, 4], "Q07": [0, 1, 2], "Q18": [5, 3], "Q22": [0]}
        names = {"Q03": ["ol_o_id", "ol_w_id", "ol_d_id", "revenue", "o_entry_d"],
                 "Q07": ["supp_nation", "cust_nation", "l_year", "revenue"],
                 "Q18": ["c_last", "c_id", "o_id", "o_entry_d", "o_ol_cnt", "sum"],
                 "Q22": ["country", "numcust", "totacctbal"]}
        texts = dict(ch_queries())
        for query, positions in orders.items():
            self.assertEqual(order_columns(texts[query], names[query]), positions, query)


if __name__ == "__main__":
    unittest.main()
