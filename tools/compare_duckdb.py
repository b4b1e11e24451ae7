"""What tools/compare-duckdb runs: ours and DuckDB's times on the same data, as tables and JSON.

Data     made by `diptych bench queries --keep`, exported as CSV by `diptych query`, and copied into
         tables in DuckDB's memory; before anything is measured, all 22 answers are compared.
Alone    each CH query, one at a time; the median, from text to rows in the caller's memory, so
         with parsing and planning, on either side. DuckDB's rows are fetched as Python objects,
         ours are C++ values. Most answers are small; of one warehouse the objects take 79 % of
         Q16's time (99,950 rows), 51 % of Q10's, 36 % of Q18's and 33 % of Q15's.
Clients  closed loops of A clients over the templates with random parameters, from the first call
         until the last answer; all calls count. DuckDB's clients are Python threads with a cursor
         each; its work is done without Python's lock.
Cores    with N threads each side works on queries on the last N of the cores that this process
         may use. DuckDB's calling threads work too, so its threads and clients are bound to them.
         Of ours the query threads, their dispatcher and the clients of closed loops are bound;
         other cores are left to the thread that waits for queries alone, and to the transaction
         side, which has nothing to do.
Order    ours, DuckDB's, ours, DuckDB's, ...; `--rounds` of each. DuckDB's data stay in memory, and
         idle, while ours run, and the other way round ours are not there.
Limit    a query that takes longer than --query-limit is interrupted, and counts as the limit; of
         one that takes longer than a second (Q05's join order) the first run after the one that
         warms up counts, in all rounds of a state of the data.
"""

import argparse
import contextlib
import json
import math
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import threading
import time

from duckdb_peer import (TABLES, Program, ch_queries, copy_csv, difference, duckdb_answer,
                         duckdb_schema, numbers, template_text, templates)
from process_group import exit_when_terminated

# Of tables whose rows as a query's result would fill the memory: exported by these warehouses.
CHUNKED = {"orderline": "ol_w_id", "stock": "s_w_id", "customer": "c_w_id"}
CHUNK_WAREHOUSES = 5
SLOW_SECONDS = 1.0  # a query of DuckDB's that takes longer is measured once
PASSES = 3          # of the CH queries in a round, on either side at least
LOOP_LIMIT = 120.0  # seconds after which a closed loop of DuckDB's is cut off


def geometric_mean(values):
    values = list(values)
    if not values or any(not value or value <= 0 for value in values):
        return None
    return math.exp(sum(map(math.log, values)) / len(values))


def cores_for(threads):
    """The last cores, as `diptych bench queries --threads` chooses them."""
    return sorted(ALL_CORES)[-threads:]


ALL_CORES = os.sched_getaffinity(0)


@contextlib.contextmanager
def exported(program, sql, csv):
    """The file, with what a query of ours gives; afterwards it is gone."""
    try:
        with csv.open("w") as out:
            done = subprocess.run([program.binary, "query", program.path, "--format", "csv", "-c",
                                   sql], stdout=out, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{sql}: exit {done.returncode}\n{done.stderr[-2000:]}")
        yield csv
    finally:
        csv.unlink(missing_ok=True)


@contextlib.contextmanager
def limited(connection, seconds):
    """What the connection does in the block is interrupted after so long."""
    timer = threading.Timer(seconds, connection.interrupt)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Duckdb:
    """The peer, with a copy of the data in its memory."""

    def __init__(self, program, warehouses, folder, limit):
        import duckdb

        self.duckdb = duckdb
        self.limit = limit
        self.slow = {}  # name -> milliseconds, of what takes too long to be run again
        self.connection = duckdb.connect()
        for statement in duckdb_schema():
            self.connection.execute(statement)
        for table in TABLES:
            for condition in self.chunks(table, warehouses):
                with exported(program, f"select * from {table} {condition}",
                              folder / f"{table}.csv") as csv:
                    copy_csv(self.connection, table, csv)
        names = lambda sql: [name for name, in self.connection.execute(sql).fetchall()]
        self.nations = names("select n_name from nation order by 1")
        self.regions = names("select r_name from region order by 1")

    @staticmethod
    def chunks(table, warehouses):
        if table not in CHUNKED:
            return [""]
        return [f"where {CHUNKED[table]} between {first} and {first + CHUNK_WAREHOUSES - 1}"
                for first in range(1, warehouses + 1, CHUNK_WAREHOUSES)]

    def use(self, threads):
        """So many threads, on as many cores, this one included."""
        os.sched_setaffinity(0, cores_for(threads))
        self.connection.execute("set threads = 1")  # so that the others are made anew, and bound
        self.connection.execute(f"set threads = {threads}")

    def timed(self, sql):
        """Milliseconds; the limit, where that was hit."""
        try:
            with limited(self.connection, self.limit):
                begin = time.perf_counter()
                self.connection.execute(sql).fetchall()
                return (time.perf_counter() - begin) * 1e3
        except self.duckdb.InterruptException:
            return self.limit * 1e3

    def alone(self, threads):
        """Times of each CH query, some passes after one that warms up, as ours have one."""
        self.use(threads)
        times = {}
        for number in range(PASSES + 1):
            for name, sql in ch_queries():
                if (name, threads) in self.slow:
                    times[name] = [self.slow[name, threads]]
                    continue
                spent = self.timed(sql)
                if number == 0 and spent > SLOW_SECONDS * 1e3:
                    spent = self.timed(sql)
                if spent > SLOW_SECONDS * 1e3:
                    self.slow[name, threads] = spent
                    times[name] = [spent]
                elif number > 0:
                    times.setdefault(name, []).append(spent)
        return times

    def loop(self, threads, clients, seconds, seed):
        """A closed loop; queries per second, latencies in milliseconds, and what kept clients from
        going on."""
        self.use(threads)
        texts = templates()
        latencies = []
        cursors = [self.connection.cursor() for _ in range(clients)]
        begin = time.perf_counter()
        cut, failed = [], []

        def client(number, cursor):
            draw = random.Random(seed * 1_000_003 + number)
            at = number * 5 % len(texts)
            while True:
                sql = template_text(texts[at][1], draw, self.nations, self.regions)
                start = time.perf_counter()
                try:
                    cursor.execute(sql).fetchall()
                except self.duckdb.InterruptException:
                    cut.append(number)
                    return
                except self.duckdb.Error as error:
                    failed.append(f"DuckDB's client {number} of {clients}: {error}")
                    return
                now = time.perf_counter()
                latencies.append((now - start) * 1e3)
                if now - begin >= seconds:
                    return
                at = (at + 1) % len(texts)

        threads_of_clients = [threading.Thread(target=client, args=pair)
                              for pair in enumerate(cursors)]
        for thread in threads_of_clients:
            thread.start()
        try:
            for thread in threads_of_clients:
                thread.join(max(0.0, begin + seconds + LOOP_LIMIT - time.perf_counter()))
        finally:
            for thread, cursor in zip(threads_of_clients, cursors):
                while thread.is_alive():  # an interrupt between two queries does nothing
                    cursor.interrupt()
                    thread.join(0.1)
        spent = time.perf_counter() - begin
        for cursor in cursors:
            cursor.close()
        latencies.sort()
        return {"queries_per_second": len(latencies) / spent, "cut_off": len(cut),
                "p50_ms": quantile(latencies, 0.5), "p99_ms": quantile(latencies, 0.99),
                "failed": failed}


def quantile(ordered, q):
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))] if ordered else None


class Diptych:
    def __init__(self, options, aged):
        self.options = options
        self.aged = aged

    def bench(self, *arguments):
        os.sched_setaffinity(0, ALL_CORES)
        report = self.options.folder / "ours.json"
        report.unlink(missing_ok=True)
        command = [self.options.program, "bench", "queries", "--warehouses",
                   self.options.warehouses, "--seed", self.options.seed, "--json", report,
                   *arguments]
        if self.aged:
            command.append("--aged")
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        # With 1 it measured all the same; what was wrong is in the report, or was said.
        if done.returncode not in (0, 1) or not report.exists():
            raise RuntimeError(f"{' '.join(done.args)}: exit {done.returncode}\n{done.stderr}")
        failure = done.stderr[-500:] if done.returncode == 1 else None
        return json.loads(report.read_text()) | {"failure": failure}

    def keep(self, path):
        return self.bench("--seconds", 0.001, "--keep", path)

    def alone(self, threads):
        return self.bench("--threads", threads, "--seconds", self.options.seconds)

    def loops(self, threads):
        clients = ",".join(map(str, self.options.clients))
        return self.bench("--threads", threads, "--seconds", self.options.seconds, "--queries",
                          "templates", "--clients", clients)


def say(text):
    print(f"[{time.perf_counter() - BEGIN:6.0f} s] {text}", file=sys.stderr, flush=True)


BEGIN = time.perf_counter()


def compare_answers(program, duckdb, limit):
    """What differs, by query; DuckDB's time limit holds here too."""
    named = ch_queries()
    found = {}
    try:
        results = program.query([sql for _, sql in named])
    except RuntimeError as error:  # the figures are worth having all the same
        return {"all": f"not compared: {error}"}
    for (name, sql), result in zip(named, results, strict=True):
        try:
            with limited(duckdb.connection, limit):
                answer = duckdb_answer(duckdb.connection, sql)
            differs = difference(result, *answer)
        except duckdb.duckdb.InterruptException:
            differs = "not compared: DuckDB was interrupted"
        if differs:
            found[name] = differs
    return found


def copy_of_data(options, ours, state):
    """DuckDB with the same data, and what is known of them. Our database is gone afterwards."""
    path = options.folder / "database"
    shutil.rmtree(path, ignore_errors=True)
    try:
        say(f"{state}: making the data")
        kept = ours.keep(path)
        program = Program(options.program, path)
        say(f"{state}: copying the data into DuckDB")
        peer = Duckdb(program, options.warehouses, options.folder, options.query_limit)
        say(f"{state}: comparing the answers")
        differ = compare_answers(program, peer, options.query_limit)
    finally:
        shutil.rmtree(path, ignore_errors=True)
    return peer, {"aging": kept["aging"], "answers_that_differ": differ, "threads": {}}


def measure_state(options, state):
    """Everything for fresh or aged data."""
    ours = Diptych(options, state == "aged")
    peer, out = copy_of_data(options, ours, state)
    samples = {threads: {"ours": {}, "duckdb": {}} for threads in options.threads}
    loops = {threads: {clients: {"ours": [], "duckdb": []} for clients in options.clients}
             for threads in options.threads}
    problems = []
    for number in range(options.rounds):
        for threads in options.threads:
            say(f"{state}: round {number + 1} of {options.rounds}, {threads} thread(s): ours")
            report = ours.alone(threads)
            note_problems(report, problems)
            for name, value in report["query_ms"].items():
                samples[threads]["ours"].setdefault(name, []).append(value)
            say(f"{state}: round {number + 1}, {threads} thread(s): DuckDB's")
            for name, values in peer.alone(threads).items():
                samples[threads]["duckdb"].setdefault(name, []).extend(values)
            if not options.clients:
                continue
            say(f"{state}: round {number + 1}, {threads} thread(s): clients, ours")
            report = ours.loops(threads)
            note_problems(report, problems)
            for cell in report["cells"]:
                loops[threads][cell["clients"]]["ours"].append(
                    {"queries_per_second": cell["queries_per_second"],
                     "p50_ms": cell["latency_ms"]["p50"], "p99_ms": cell["latency_ms"]["p99"]})
            for clients in options.clients:
                say(f"{state}: round {number + 1}, {threads} thread(s): {clients} client(s), "
                    "DuckDB's")
                cell = peer.loop(threads, clients, options.seconds, options.seed + number)
                problems += cell["failed"]
                loops[threads][clients]["duckdb"].append(cell)
    peer.connection.close()
    for threads in options.threads:
        out["threads"][threads] = {"queries": query_figures(samples[threads]),
                                   "clients": {clients: loop_figures(sides) for clients, sides
                                               in loops[threads].items()}}
        out["threads"][threads].update(means(out["threads"][threads]["queries"]))
    out["problems"] = sorted(set(problems))
    return out


def note_problems(report, problems):
    found = [f"{name}: {error}" for cell in report["cells"]
             for name, error in cell["errors"].items()]
    found += [f"{name}: {why}" for name, why in report["unsupported_queries"].items()]
    found += report["violations"] + report["differences"]
    if not found and report["failure"] is not None:
        found.append(f"ours failed: {report['failure']}")
    problems.extend(found)


def ratio(ours, theirs):
    return theirs / ours if ours and theirs else None


def query_figures(samples):
    """Medians in milliseconds, and how many times DuckDB's ours goes into it."""
    out = {}
    for name, _ in ch_queries():
        side = {key: median(samples[key].get(name, ())) for key in ("ours", "duckdb")}
        out[name] = {"ours_ms": side["ours"], "duckdb_ms": side["duckdb"],
                     "ratio": ratio(side["ours"], side["duckdb"])}
    return out


def means(queries):
    out = {}
    for key, left_out in (("geometric_mean", None), ("geometric_mean_without_q05", "Q05")):
        side = {which: geometric_mean(figures[f"{which}_ms"] for name, figures in queries.items()
                                      if name != left_out) for which in ("ours", "duckdb")}
        out[key] = {"ours_ms": side["ours"], "duckdb_ms": side["duckdb"],
                    "ratio": ratio(side["ours"], side["duckdb"])}
    return out


def median(values):
    """Of those that are known."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def loop_figures(sides):
    out = {}
    for side, runs in sides.items():
        out[side] = {key: median(run[key] for run in runs)
                     for key in ("queries_per_second", "p50_ms", "p99_ms")}
    out["duckdb"]["cut_off"] = sum(run["cut_off"] for run in sides["duckdb"])
    out["ratio"] = ratio(out["duckdb"]["queries_per_second"], out["ours"]["queries_per_second"])
    return out


def figure(value, digits=1):
    return "-" if value is None else f"{value:,.{digits}f}"


def query_table(state):
    """One line a query; three columns for each number of threads."""
    threads = list(state["threads"])
    plural = lambda count: f"{count} thread" + ("" if count == 1 else "s")
    lines = ["| ms | " + " | ".join(f"ours, {plural(n)} | DuckDB | ratio" for n in threads) + " |",
             "| --- |" + " ---: |" * (3 * len(threads))]
    rows = [(name, lambda n, name=name: state["threads"][n]["queries"][name])
            for name, _ in ch_queries()]
    rows += [("geometric mean", lambda n: state["threads"][n]["geometric_mean"]),
             ("without Q05", lambda n: state["threads"][n]["geometric_mean_without_q05"])]
    for name, at in rows:
        cells = []
        for n in threads:
            figures = at(n)
            cells += [figure(figures["ours_ms"]), figure(figures["duckdb_ms"]),
                      figure(figures["ratio"], 2)]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def client_table(state):
    lines = []
    for threads, figures in state["threads"].items():
        if not figures["clients"]:
            continue
        lines += [f"| clients, threads: {threads} | ours, queries/s | DuckDB | ratio "
                  "| ours p50, p99 ms | DuckDB p50, p99 ms |",
                  "| ---: | ---: | ---: | ---: | ---: | ---: |"]
        for clients, cell in figures["clients"].items():
            times = [f"{figure(cell[side]['p50_ms'])}, {figure(cell[side]['p99_ms'])}"
                     for side in ("ours", "duckdb")]
            cut = cell["duckdb"]["cut_off"]
            lines.append(f"| {clients} | {figure(cell['ours']['queries_per_second'])} "
                         f"| {figure(cell['duckdb']['queries_per_second'])}"
                         f"{f' ({cut} cut off)' if cut else ''} "
                         f"| {figure(cell['ratio'])} | {times[0]} | {times[1]} |")
        lines.append("")
    return "\n".join(lines)


def aged_table(fresh, aged):
    """What aging costs, on either side: times of aged data by those of fresh."""
    lines = ["| aged / fresh | threads | ours | DuckDB |", "| --- | ---: | ---: | ---: |"]
    for threads in fresh["threads"]:
        before, after = fresh["threads"][threads], aged["threads"][threads]
        for title, key in (("geometric mean", "geometric_mean"),
                           ("without Q05", "geometric_mean_without_q05")):
            cells = [figure(ratio(before[key][side], after[key][side]), 2)
                     for side in ("ours_ms", "duckdb_ms")]
            lines.append(f"| {title} | {threads} | {cells[0]} | {cells[1]} |")
        slower = {name: ratio(before["queries"][name]["ours_ms"], figures["ours_ms"])
                  for name, figures in after["queries"].items()}
        known = {name: value for name, value in slower.items() if value}
        if known:
            worst = max(known, key=known.get)
            lines.append(f"| our worst, {worst} | {threads} | {figure(known[worst], 2)} | |")
    return "\n".join(lines)


def tables(report):
    out = [f"Warehouses: {report['warehouses']}. DuckDB {report['duckdb_version']} in memory. "
           f"Medians of {report['rounds']} alternating round(s). Ratio: DuckDB's time by ours."]
    for name, state in report["states"].items():
        aging = state["aging"]
        out.append(f"\n### {name.capitalize()} data" + (
            f": {aging['transactions']:,} transactions, order lines "
            f"{aging['order_lines_loaded']:,} -> {aging['order_lines']:,}, "
            f"{aging['stock_changed']:.0%} of stock and "
            f"{aging['customers_changed']:.0%} of customers changed" if aging else ""))
        out.append("")
        out.append(query_table(state))
        out.append("")
        out.append(client_table(state))
        for query, differs in state["answers_that_differ"].items():
            out.append(f"ANSWER THAT DIFFERS: {query}: {differs}")
        for problem in state["problems"]:
            out.append(f"PROBLEM: {problem}")
    if len(report["states"]) == 2:
        out.append("\n### What aging costs\n")
        out.append(aged_table(report["states"]["fresh"], report["states"]["aged"]))
    return "\n".join(out)


def parse_options(words):
    parser = argparse.ArgumentParser(prog="tools/compare-duckdb", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warehouses", type=int, default=10)
    parser.add_argument("--threads", type=numbers, default=[1, 2], help="default 1,2")
    parser.add_argument("--clients", type=numbers, default=[1, 16, 64, 256, 1024],
                        help="default 1,16,64,256,1024; '' leaves the closed loops out")
    parser.add_argument("--seconds", type=float, default=5.0,
                        help="in which each closed loop makes calls; default 5")
    parser.add_argument("--aged", action="store_true",
                        help="also after an hour's worth of transactions")
    parser.add_argument("--rounds", type=int, default=2, help="of each side; default 2")
    parser.add_argument("--query-limit", type=float, default=60.0,
                        help="seconds that a query of DuckDB's may take; default 60")
    parser.add_argument("--json", type=pathlib.Path, help="where the figures are written too")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--program", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--check-arguments", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if min(options.warehouses, options.rounds) < 1 or not options.threads:
        parser.error("--warehouses, --threads and --rounds are at least 1")
    if not all(0 < seconds < math.inf for seconds in (options.seconds, options.query_limit)):
        parser.error("--seconds and --query-limit are more than 0")
    if max(options.threads, default=0) > len(ALL_CORES):
        parser.error(f"--threads: there are {len(ALL_CORES)} cores")
    return options


def main():
    options = parse_options(sys.argv[1:])
    if options.check_arguments:
        return
    exit_when_terminated()
    import duckdb

    states = ["fresh", "aged"] if options.aged else ["fresh"]
    report = {"warehouses": options.warehouses, "rounds": options.rounds,
              "seconds": options.seconds, "seed": options.seed,
              "duckdb_version": duckdb.__version__, "states": {}}
    for state in states:
        report["states"][state] = measure_state(options, state)
    print(tables(report))
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")
        say(f"wrote {options.json}")
    wrong = any(state["answers_that_differ"] or state["problems"]
                for state in report["states"].values())
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
