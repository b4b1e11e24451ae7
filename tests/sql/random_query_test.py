"""Random queries on random data: the program's answers against a peer's, alone and in batches.

A schema with data (tests/sql/random_schema.py) goes into a new database and into DuckDB, or into a
PostgreSQL server of its own (tests/sql/postgres_peer.py); its queries run in batches of random
size, each of which is one `diptych query -f`, some with parameters in the place of literals, and
some queries again alone. A query is wrong if its rows differ from the peer's, or alone from those
in its batch; it is then made smaller as long as it stays wrong, with its batch where it is not
wrong alone, and told with its seed. Where the peer fails on a value that has to be computed (by an
overflow, say), rows of ours are wrong. What else the peer refuses is counted as skipped; so is what
the program calls unsupported, but not with --schemas, where it is a failure, as is a run of which
the peer refuses a lot, or that reads few full blocks: such a run of a fixed seed tests the same
each time.

Usage: random_query_test.py [--peer duckdb|postgres] [--seed N] [--seconds S | --schemas N]
                            [--queries N]

Environment: DIPTYCH_PROGRAM, the binary; DIPTYCH_VENV_PYTHON, a Python with duckdb and psycopg
(tools/test makes one): this script runs itself with it.
"""

import argparse
import collections
import os
import pathlib
import random
import re
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests"), str(ROOT / "tests/sql")]

import virtual_environment  # noqa: E402
from duckdb_peer import (Program, copy_csv, difference, duckdb_answer, equal,  # noqa: E402
                         other_widths, plain_rows, sort_key)
from postgres_peer import NotInstalled, PostgresPeer  # noqa: E402
from query_tree import Listed  # noqa: E402
from random_schema import FULL_BLOCK_ROWS, random_schema  # noqa: E402
from random_sql import Generator  # noqa: E402

SHRINK_SECONDS = 20.0
BATCH_SECONDS_MAX = 120.0  # what takes longer is wrong
PEER_SECONDS_MAX = 10.0  # a query that the peer needs longer for is skipped: PostgreSQL's time of a
#                          window's frames with EXCLUDE grows with the square of the rows
SMALLER_SECONDS_MAX = 5.0  # a smaller query may have lost what joined its tables: it does not count
MISSED = "no error"
# Of values: domains, overflows, casts; more than one row. As the peer's refusal begins.
VALUE_ERROR = re.compile(r"22...:|21000:")
# PostgreSQL does not compute what a LIMIT cuts off, nor of a subquery's rows those not asked for.
CUT_OFF = re.compile(r"\b(LIMIT|FETCH)\b|\(SELECT")
ODD_MAX = 5  # of those are printed
WRONG_MAX = 10  # told; then the run ends
ENDED = "the program ended"
UNSUPPORTED = "unsupported by ours"
FULL_BLOCKS = "over full blocks"
TIME_OVER = "57014"  # the SQLSTATE of what took longer than it may
# Of all queries of a run with --schemas. The tests' own have 0.97 and more, and 0.59 with rows.
COMPARED_SHARE_MIN = 0.7
ROWS_SHARE_MIN = 0.35
BLOCKS_SHARE_MIN = 0.3  # of those compared
WORDS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def with_words(rows):
    """A peer's, with NaN and infinities as our JSON writes them."""
    return [tuple(WORDS.get(str(value), value) if isinstance(value, float) else value
                  for value in row) for row in rows]


class DuckdbPeer:
    """The tables of one schema at a time."""

    name = "DuckDB"
    is_postgres = False
    refusal = ""  # of the last query without rows

    def __init__(self):
        import duckdb

        self.duckdb = duckdb

    def new_schema(self):
        self.connection = self.duckdb.connect(config={"threads": 1})

    def load(self, table, csv):
        self.connection.execute(table.ddl(foreign_keys=False))
        copy_csv(self.connection, table.name, csv)

    def takes(self, ddl):
        try:
            self.connection.execute(ddl)
        except self.duckdb.Error:
            return False
        return True

    def answer(self, sql, seconds_max):
        """(rows, width); None where DuckDB refuses, or takes longer."""
        limit = threading.Timer(seconds_max, self.connection.interrupt)
        limit.start()
        try:
            return duckdb_answer(self.connection, sql)
        except self.duckdb.Error as error:
            self.refusal = str(error).split("\n")[0]
            return None
        finally:
            limit.cancel()


class Pair:
    """One schema with its data in both engines."""

    def __init__(self, binary, peer, seed, folder):
        self.seed = seed
        draw = random.Random(seed)
        self.tables = random_schema(draw, peer.is_postgres)
        self.block_rows = draw.choice([FULL_BLOCK_ROWS] * 4 + [65536])
        self.program = Program(binary, folder / "database")
        self.peer = peer
        script = folder / "schema.sql"
        script.write_text(";\n".join(table.ddl(foreign_keys=True) for table in self.tables))
        self.program.run("init", self.program.path, "--schema", script, "--block-rows",
                         self.block_rows)
        peer.new_schema()
        for table in self.tables:
            path = folder / f"{table.name}.csv"
            self.write_csv(path, table)
            peer.load(table, path)
            if table.rows:
                self.program.run("load", self.program.path, table.name, path)
        self.views = []  # sources of queries
        self.view_ddl = []
        self.make_views()

    def make_views(self):
        """In a third of the schemas; the second one may use the first. Both engines take them."""
        generator = Generator(f"views of {self.seed}", self.tables, self.peer.is_postgres)
        for number in range(generator.draw.choice([0, 0, 0, 0, 1, 2])):
            generator.ctes = self.views
            source, query = generator.cte(generator.query(0, ordered=False))
            view = Listed(f"view{number}", source.rows, source.columns)
            ddl = f"CREATE VIEW {view} AS {query}"
            try:
                self.program.run("ddl", self.program.path, "-c", ddl)
            except RuntimeError as error:
                if "unsupported" not in str(error):
                    raise
                continue
            if not self.peer.takes(ddl):
                self.program.run("ddl", self.program.path, "-c", f"DROP VIEW {view}")
                continue
            self.views = [*self.views, view]
            self.view_ddl.append(ddl)

    @staticmethod
    def write_csv(path, table):
        with path.open("w", newline="") as out:
            out.write(",".join(column.name for column in table.columns) + "\n")
            for row in table.rows:
                out.write(",".join("" if value is None else '"' + value.replace('"', '""') + '"'
                                   for value in row) + "\n")

    def peer_answer(self, sql, seconds_max=PEER_SECONDS_MAX):
        answer = self.peer.answer(sql, seconds_max)
        return answer and (with_words(answer[0]), answer[1])

    def batch(self, statements, parameters=(), seconds_max=BATCH_SECONDS_MAX):
        """Our results; one that ends the program is an error of them all."""
        try:
            return self.program.query(statements, seconds_max, parameters)
        except RuntimeError as error:
            return [{"error": f"{ENDED}: {error}"}] * len(statements)


def reads_full_blocks(pair, query):
    """Whether it names a table with blocks that are full, and so compressed."""
    views = [ddl for view, ddl in zip(pair.views, pair.view_ddl) if view in str(query)]
    text = " ".join([str(query), *views])
    return any(len(table.rows) >= pair.block_rows and
               re.search(rf"\b{table.name}\b", text) for table in pair.tables)


def missed_error(pair, query, result):
    """What is wrong with rows of ours, where the peer refused a value that has to be computed."""
    rows_of = {table.name: len(table.rows) for table in pair.tables}
    if ("error" in result or not VALUE_ERROR.match(pair.peer.refusal) or
            not query.evaluates_its_items(rows_of)):
        return None
    return f"{MISSED}, {pair.peer.name} has {pair.peer.refusal}"


def has_ended(result):
    return result.get("error", "").startswith(ENDED)


def took_too_long(result):
    return result.get("sqlstate") == TIME_OVER


def is_skipped(result):
    """Not supported, or a function that is not there yet."""
    return not has_ended(result) and bool(
        re.search(r"unsupported|function .* does not exist", result.get("error", "")))


def rows_in_order(result, rows):
    """What differs in the order of rows that are ordered by all of their columns."""
    ours, theirs = plain_rows(result["rows"]), plain_rows(rows)
    if ours == theirs:
        return None
    doubles = [i for i, column in enumerate(result["columns"]) if column["type"] == "DOUBLE"]

    def tied(number):
        """Whether rows round it, ours or theirs, whose doubles are the same but for their last
        digits, have some that are not the same."""
        def like(row, other):
            return all(equal(row[i], other[i], True) for i in doubles)

        for some in (ours, theirs):
            own = some[number]
            first, end = number, number + 1
            while first > 0 and like(some[first - 1], own):
                first -= 1
            while end < len(some) and like(some[end], own):
                end += 1
            if any(row[i] != own[i] for row in some[first:end] for i in doubles):
                return True
        return False

    for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        for column, x, y in zip(result["columns"], a, b, strict=True):
            if not equal(x, y, column["type"] == "DOUBLE") and not tied(number):
                return f"order of row {number}, column {column['name']}: {x} against {y}"
    return None


def fault_of(query, result, rows, width):
    """What is wrong with our result; None: nothing."""
    fault = difference(result, rows, width)
    if fault is None and query.order and "WITH TIES" not in query.limit:
        fault = rows_in_order(result, rows)
    return fault


def kind_of(fault):
    """So that shrinking does not wander off to another fault: an error stays that error."""
    if fault.startswith(ENDED):  # whatever it said then
        return ENDED
    if fault.startswith(MISSED):
        return MISSED
    if "against" in fault:
        return "difference"
    return re.sub(r"[^a-z ]+.*", "", fault)[:40]


def same_rows(one, other):
    if "error" in one or "error" in other:
        return one.get("error") == other.get("error")
    if len(one["columns"]) != len(other["columns"]) or any(
            other_widths(side, []) for side in (one, other)):
        return False
    sides = [plain_rows(side["rows"]) for side in (one, other)]
    if sides[0] == sides[1]:
        return True
    if len(sides[0]) != len(sides[1]):
        return False
    return all(equal(x, y, column["type"] == "DOUBLE")
               for a, b in zip(*(sorted(side, key=sort_key) for side in sides), strict=True)
               for column, x, y in zip(one["columns"], a, b, strict=True))


def as_they_are(queries):
    return [str(query) for query in queries], []


LITERAL = re.compile(r"(DATE |TIMESTAMP |INTERVAL )?'((?:[^']|'')*)'|"
                     r"CAST\((-?[\d.]+|NULL) AS ([A-Z][A-Z ]*(?:\([\d,]+\))?)\)")


def with_parameters(queries):
    """Their texts with $1, $2 and so on in the place of literals, and these."""
    numbers = {}

    def place(match):
        kind, text, bare, of = match.groups()
        if kind == "INTERVAL ":
            return match[0]
        kind = of or kind and kind.strip()
        value = text.replace("''", "'") if bare is None else bare
        number = numbers.setdefault((kind, value), len(numbers) + 1)
        return f"CAST(${number} AS {kind})" if kind else f"${number}"

    texts = [LITERAL.sub(place, str(query)) for query in queries]
    return texts, [value for _, value in numbers]


def smaller_batches(queries, at):
    """With fewer queries around the one at `at`; then with a part less of one of them."""
    size = len(queries) // 2
    while size > 0:
        for start in range(0, len(queries), size):
            if not start <= at < start + size:
                yield (queries[:start] + queries[start + size:],
                       at - size if start < at else at)
        size //= 2
    for number, query in enumerate(queries):
        for less in query.smaller():
            if len(str(less)) < len(str(query)):
                yield [*queries[:number], less, *queries[number + 1:]], at


def shrink(pair, batch, at, fault, written=as_they_are):
    """The smallest batch found in which ours still has a fault of this kind in the query at the
    place that comes with it: alone, if it has it there. `written` makes texts of queries."""
    wanted = kind_of(fault)

    def still(queries, place, written):
        results = pair.batch(*written(queries), SMALLER_SECONDS_MAX)
        if len(results) != len(queries) or is_skipped(results[place]):
            return None
        if wanted == ENDED:
            return results[place]["error"] if has_ended(results[place]) else None
        answer = pair.peer_answer(str(queries[place]), SMALLER_SECONDS_MAX)
        if answer is None:
            return missed_error(pair, queries[place], results[place]) if wanted == MISSED else None
        found = fault_of(queries[place], results[place], *answer)
        return found if found and kind_of(found) == wanted else None

    suspects = batch if wanted == ENDED else [batch[at]]  # any of them can have ended the program
    tries = [([query], 0, how) for how in (as_they_are, written) for query in suspects]
    tries.append((batch, at, written))
    for queries, place, written in tries:
        found = still(queries, place, written)
        if found:
            break
    else:
        return batch, at, fault + " (once, in this batch)"
    end = time.monotonic() + SHRINK_SECONDS
    again = True
    while again:
        again = False
        for less, there in smaller_batches(queries, place):
            if time.monotonic() > end:
                return queries, place, found
            now = still(less, there, written)
            if now:
                queries, place, found, again = less, there, now, True
                break
    return queries, place, found


class Run:
    def __init__(self, binary, peer):
        self.binary, self.peer = binary, peer
        self.counts = collections.Counter()
        self.unsupported = collections.Counter()
        self.refused = collections.Counter()
        self.states = collections.Counter()
        self.odd = []  # (seed, the peer's answer, ours, query): nobody can say which is right
        self.wrong = []

    def schema(self, seed, queries):
        with tempfile.TemporaryDirectory(prefix="diptych-random-") as folder:
            pair = Pair(self.binary, self.peer, seed, pathlib.Path(folder))
            generator = Generator(seed, pair.tables, self.peer.is_postgres)
            generator.ctes = pair.views
            self.counts["views"] += len(pair.views)
            asked = [generator.query() for _ in range(queries)]
            draw = random.Random(seed)
            at = 0
            while at < len(asked):
                size = draw.choice([1, 2, 5, 20, 60])
                self.check(pair, asked[at:at + size], draw)
                at += size

    def check(self, pair, batch, draw):
        written = with_parameters if draw.random() < 0.3 else as_they_are
        results = pair.batch(*written(batch))
        if len(results) != len(batch):
            self.tell(pair, batch, 0, f"{len(results)} results of {len(batch)} statements", "")
            return
        late = 0
        for at, (query, result) in enumerate(zip(batch, results)):
            late += took_too_long(result)
            if took_too_long(result) and late > 1:  # for the reason of the first
                continue
            fault = self.fault(pair, query, result, written, draw)
            if fault:
                self.tell(pair, *shrink(pair, batch, at, fault, written), str(query))
            if has_ended(result):  # all of them, for one reason
                return

    def fault(self, pair, query, result, written, draw):
        """What is wrong with a result of a batch; None: nothing, or it is skipped."""
        # Whatever the peer says to such a query.
        if has_ended(result) or took_too_long(result):
            return result["error"]
        if is_skipped(result):
            self.counts[UNSUPPORTED] += 1
            what = re.sub(r"^.*?unsupported: | (is|are) not supported.*", "", result["error"])
            self.unsupported[what[:60]] += 1
            return None
        answer = pair.peer_answer(str(query))
        if answer is None:
            return self.refused_fault(pair, query, result)
        self.counts["compared"] += 1
        self.counts["with parameters"] += written is with_parameters
        self.counts["with rows"] += bool(answer[0])
        self.counts[FULL_BLOCKS] += reads_full_blocks(pair, query)
        fault = fault_of(query, result, *answer)
        if fault and result.get("sqlstate", "")[:2] == "22" and CUT_OFF.search(str(query)):
            self.counts["failing in ours alone, with a LIMIT or a subquery"] += 1
            self.odd.append((pair.seed, "rows", result["error"], str(query)))
            return None
        if fault is None and draw.random() < 0.15:
            self.counts["also alone"] += 1
            alone, = pair.batch([str(query)])
            if not same_rows(result, alone):
                fault = fault_of(query, alone, *answer) or "its rows alone differ from those here"
        return fault

    def refused_fault(self, pair, query, result):
        """What is wrong with our result of what the peer refuses; None: nothing, or who knows."""
        refusal = self.peer.refusal
        if not VALUE_ERROR.match(refusal):
            self.counts[f"refused by {self.peer.name}"] += 1
            self.refused[refusal[:90]] += 1
        elif "error" in result:
            self.counts["failing in both"] += 1
            if result.get("sqlstate") != refusal[:5]:
                self.states[f"{result.get('sqlstate')} for {refusal[:75]}"] += 1
        else:
            self.counts[f"failing in {self.peer.name} alone"] += 1
            if result["rows"]:  # else it is a constant, and of no row
                self.odd.append((pair.seed, refusal, "rows", str(query)))
            return missed_error(pair, query, result)
        return None

    def tell(self, pair, batch, at, fault, query):
        """What is wrong in the query at the place in the batch, and what it was before."""
        self.wrong.append((pair.seed, str(batch[at])))
        print(f"\nWRONG, seed {pair.seed}: {fault}\n  {batch[at]}\n  found as: {query}")
        for other in batch[:at] + batch[at + 1:]:
            print(f"  in a batch with: {other}")
        for table in pair.tables:
            print(f"  {table.ddl(foreign_keys=True)}; -- {len(table.rows)} rows")
        for ddl in pair.view_ddl:
            print(f"  {ddl};")
        sys.stdout.flush()


def what_is_missing(counts, asked):
    """Why a run without a wrong query says too little, in words; None: it does not. asked: how many
    queries a run of a fixed seed has; None: of another run."""
    if asked is None:
        return "nothing was compared" if counts["compared"] == 0 else None
    if counts[UNSUPPORTED] > 0:
        return f"{counts[UNSUPPORTED]} queries are unsupported: a fixed seed has none"
    for what, share_min in (("compared", COMPARED_SHARE_MIN), ("with rows", ROWS_SHARE_MIN)):
        if counts[what] < share_min * asked:
            return f"{counts[what]} of {asked} queries: {what}; {share_min:.0%} are needed"
    return None


def blocks_missing(counts):
    """As what_is_missing, of the queries that read blocks that are compressed."""
    if counts[FULL_BLOCKS] < BLOCKS_SHARE_MIN * counts["compared"]:
        return f"{counts[FULL_BLOCKS]} of {counts['compared']} queries: {FULL_BLOCKS}"
    return None


def main():
    if not virtual_environment.enter():
        return 0
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", choices=["duckdb", "postgres"], default="duckdb")
    parser.add_argument("--seed", type=int, help="of the first schema; default: from the clock")
    parser.add_argument("--seconds", type=float, default=4.0, help="schemas are begun for so long")
    parser.add_argument("--schemas", type=int, help="so many, however long they take")
    parser.add_argument("--queries", type=int, default=60, help="of each schema")
    options = parser.parse_args()
    try:
        peer = DuckdbPeer() if options.peer == "duckdb" else PostgresPeer()
    except NotInstalled as reason:
        print(f"SKIPPED: {reason}")
        return 0
    seed = options.seed if options.seed is not None else int(time.time())
    print(f"random queries, seed {seed}: --seed {seed} makes them again", flush=True)
    run = Run(os.environ["DIPTYCH_PROGRAM"], peer)
    end = time.monotonic() + options.seconds
    while True:
        run.schema(seed, options.queries)
        run.counts["schemas"] += 1
        seed += 1
        if options.schemas is None:
            ended = time.monotonic() > end
        else:
            ended = run.counts["schemas"] >= options.schemas
        if ended or len(run.wrong) >= WRONG_MAX:
            break
    print(", ".join(f"{count} {what}" for what, count in sorted(run.counts.items())))
    for what, count in run.unsupported.most_common(12):
        print(f"  unsupported: {count} x {what}")
    for what, count in run.refused.most_common(12):
        print(f"  refused: {count} x {what}")
    for what, count in run.states.most_common(12):
        print(f"  another error: {count} x {what}")
    for seed, theirs, ours, query in run.odd[:ODD_MAX]:
        print(f"  seed {seed}: {peer.name} {theirs}, ours {ours}\n    {query}")
    asked = None if options.schemas is None else options.schemas * options.queries
    missing = what_is_missing(run.counts, asked)
    if asked and not missing:
        missing = blocks_missing(run.counts)
    if missing:
        print(missing, file=sys.stderr)
    return 1 if run.wrong or missing else 0


if __name__ == "__main__":
    sys.exit(main())
