"""A kept answer is PostgreSQL's or it is not, and the peer says why it is not there."""

import os
import pathlib
import sys
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/sql"))

import answers_postgres_test as test  # noqa: E402
import postgres_peer  # noqa: E402


def statement(text):
    return test.Statement(text.split("\n"))


class AnswersTest(unittest.TestCase):
    def test_files_are_read_as_they_are_written(self):
        for path in sorted(test.ANSWERS.glob("*.test")):
            asked = test.statements(path)
            self.assertEqual("\n".join(one.text() for one in asked), path.read_text())
            self.assertTrue(any(one.is_compared() for one in asked))

    def test_what_differs_on_purpose_is_not_compared(self):
        self.assertTrue(statement("# A note.\nquery\nselect 1\n----\n1").is_compared())
        self.assertFalse(statement("# differs: 38 digits\nerror 22003\nselect 1").is_compared())

    def test_another_value_order_number_of_rows_or_state_is_noticed(self):
        unordered = statement("query\nselect a\n----\n1.50|x\n2|NULL")
        self.assertTrue(test.is_same(unordered, "query", ["2.0|NULL", "1.5|x"]))
        self.assertFalse(test.is_same(unordered, "query", ["2.0|NULL", "1.5|y"]))
        self.assertFalse(test.is_same(unordered, "query", ["2.0|NULL", "1.6|x"]))
        self.assertFalse(test.is_same(unordered, "query", ["2.0|NULL"]))
        self.assertFalse(test.is_same(unordered, "error 22012", []))
        ordered = statement("query ordered\nselect a\n----\n1\n2")
        self.assertTrue(test.is_same(ordered, "query", ["1", "2"]))
        self.assertFalse(test.is_same(ordered, "query", ["2", "1"]))
        error = statement("error 22012\nselect 1 / 0")
        self.assertTrue(test.is_same(error, "error 22012", []))
        self.assertFalse(test.is_same(error, "error 22003", []))
        self.assertFalse(test.is_same(error, "query", []))

    def test_only_the_last_digits_of_long_numbers_may_differ(self):
        self.assertTrue(test.same_cell("0.42857142857142855", "0.4285714285714286"))
        self.assertFalse(test.same_cell("0.428", "0.4280000000000001"))
        self.assertFalse(test.same_cell("0.42857142857142855", "0.4285714285814286"))
        self.assertFalse(test.same_cell("NULL", "0"))


class PeerTest(unittest.TestCase):
    def test_a_machine_without_postgresql_is_told_so(self):
        with mock.patch.dict(os.environ, {"PATH": ""}), \
                mock.patch.object(postgres_peer.pathlib.Path, "glob", return_value=[]):
            with self.assertRaisesRegex(postgres_peer.NotInstalled, "is not installed"):
                postgres_peer.Server()


if __name__ == "__main__":
    unittest.main()
