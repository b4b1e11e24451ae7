"""PyArrow reads a query's result as it lies in the engine's memory: the types, the values, the
nulls, and the address of the first column's values are the engine's.

Environment: DIPTYCH_VENV_PYTHON, a Python with pyarrow (tools/test makes one);
DIPTYCH_ARROW_RESULTS, the library that arrow_results.cpp becomes.
"""

import ctypes
import datetime
import decimal
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import virtual_environment  # noqa: E402

ROWS = 70_000  # two chunks
EVERY_TYPE = """
select 1::int, 2::bigint, 3.25::decimal(12,2), 1.5::double precision, true, date '2026-11-22',
       timestamp '2026-11-22 10:00:00.5', 'a text longer than twelve bytes', null::int,
       sum(10.000::decimal(9,3)), interval '1 year 2 mons -3 days 00:00:01.5'
"""


class Stream(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p)
                for name in ("get_schema", "get_next", "get_last_error", "release", "private_data")]


class ArrowTest(unittest.TestCase):
    def query(self, sql):
        """The table, and the address of the first column's values in the engine."""
        library = ctypes.CDLL(os.environ["DIPTYCH_ARROW_RESULTS"])
        stream, address = Stream(), ctypes.c_void_p()
        failed = library.diptych_test_query(sql.encode(), ctypes.byref(stream),
                                            ctypes.byref(address))
        self.assertEqual(failed, 0)
        reader = pyarrow.RecordBatchReader._import_from_c(ctypes.addressof(stream))
        return reader.read_all(), address.value

    def test_every_type_arrives(self):
        table, _ = self.query(EVERY_TYPE)
        table.validate(full=True)
        self.assertEqual([str(field.type) for field in table.schema], [
            "int32", "int64", "decimal128(12, 2)", "double", "bool", "date32[day]",
            "timestamp[us]", "large_string", "int32", "decimal128(38, 3)",
            "month_day_nano_interval"])
        self.assertEqual([column[0].as_py() for column in table.columns], [
            1, 2, decimal.Decimal("3.25"), 1.5, True, datetime.date(2026, 11, 22),
            datetime.datetime(2026, 11, 22, 10, 0, 0, 500_000),
            "a text longer than twelve bytes", None, decimal.Decimal("10.000"),
            pyarrow.MonthDayNano([14, -3, 1_500_000_000])])

    def test_a_time_beyond_nanoseconds_is_an_error(self):
        with self.assertRaisesRegex(Exception, "beyond Arrow's nanoseconds"):
            self.query("select interval '2562048 hours' as long")

    def test_values_lie_where_the_engine_left_them(self):
        table, address = self.query("select 7::bigint as seven, 'x' as x")
        self.assertEqual(table.column("seven").chunk(0).buffers()[1].address, address)
        self.assertEqual(table.column("x").to_pylist(), ["x"])

    def test_a_result_without_rows_has_its_columns(self):
        table, _ = self.query("select 1 as n, 'x' as x where false")
        self.assertEqual((table.num_rows, table.column_names), (0, ["n", "x"]))

    def test_chunks_follow_each_other(self):
        digits = ", ".join(f"({i})" for i in range(300))
        table, _ = self.query(
            f"with d(n) as (values {digits}) select a.n * 300 + b.n as n, case when b.n % 3 = 0 "
            f"then null else a.n::text end as t from d a, d b where a.n * 300 + b.n < {ROWS} "
            f"order by 1")
        table.validate(full=True)
        self.assertGreater(table.column("n").num_chunks, 1)
        self.assertEqual(table.column("n").to_pylist(), list(range(ROWS)))
        self.assertEqual(table.column("t").to_pylist(),
                         [None if i % 3 == 0 else str(i // 300) for i in range(ROWS)])


def main():
    if not virtual_environment.enter():
        return 0
    global pyarrow
    import pyarrow
    unittest.main(verbosity=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
