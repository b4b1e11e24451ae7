"""Answers of queries with ORDER BY and LIMIT: what SQL leaves open in them, and what it does not.

Rows      are compared in any order, as duckdb_peer.difference() does it.
Order     The output columns that the ORDER BY names have the same values in each place, whichever
          of the rows with equal keys comes first. What it names and does not put out is not seen.
Ties      of a LIMIT: where the last rows' keys are equal to those of rows that it cut off, it may
          keep any of them. So our rows before those must be DuckDB's; of the last, each must be
          another row of DuckDB's answer without the LIMIT, of the same keys. This needs all keys
          among the output columns: where one is not, rows that differ are a difference.
"""

import re

from duckdb_peer import difference, duckdb_answer, equal, plain_rows
from query_order import order_columns

LIMIT = re.compile(r"\blimit\s+\d+\s*$", flags=re.IGNORECASE)


def ordered_difference(connection, text, result):
    """What differs between our result and DuckDB's answer; None if nothing."""
    if "error" in result:
        return result["error"]
    rows, width = duckdb_answer(connection, text)
    differs = difference(result, rows, width)
    if differs and (width != len(result["columns"]) or len(rows) != len(result["rows"])):
        return differs
    keys = order_columns(text, [column["name"] for column in result["columns"]])
    seen = [key for key in keys if isinstance(key, int)]
    disorder = difference_of_order(result, rows, seen)
    if disorder or not differs:
        return disorder
    if not LIMIT.search(text):
        return differs
    if len(seen) < len(keys):
        return f"{differs}; whether in a tie is not seen, for it also orders by no output column"
    whole, _ = duckdb_answer(connection, LIMIT.sub("", text))
    return difference_at_limit(result, rows, whole, seen)


def columns_equal(result, ours, theirs, positions):
    columns = result["columns"]
    return all(equal(ours[at], theirs[at], columns[at]["type"] == "DOUBLE") for at in positions)


def difference_of_order(result, rows, keys):
    """The first place whose keys differ, keys being positions of columns."""
    pairs = zip(plain_rows(result["rows"]), plain_rows(rows), strict=True)
    for place, (ours, theirs) in enumerate(pairs):
        if not columns_equal(result, ours, theirs, keys):
            return f"order of row {place}: {ours} against {theirs}"
    return None


def difference_at_limit(result, rows, whole, keys):
    """As many rows on both sides, in order; whole: DuckDB's without the LIMIT."""
    ours, theirs, whole = map(plain_rows, (result["rows"], rows, whole))
    tied = lambda row: columns_equal(result, row, theirs[-1], keys)
    before = [row for row in theirs if not tied(row)]
    differs = difference({**result, "rows": ours[:len(before)]}, before)
    if differs:
        return differs
    candidates = [row for row in whole if tied(row)]
    everywhere = range(len(result["columns"]))
    for row in ours[len(before):]:
        same = next((at for at, other in enumerate(candidates)
                     if columns_equal(result, row, other, everywhere)), None)
        if same is None:
            return f"{row} is no row of DuckDB's without the LIMIT, or comes too often"
        del candidates[same]
    return None
