"""Queries here and on DuckDB, side by side: answers first, and then the times of each query alone.

Shared by compare_tpch.py and compare_tpcds.py. Queries are (name, text) pairs, in their order.
"""

import argparse
import json
import math
import pathlib
import sys
import time

from duckdb_peer import Program, difference, duckdb_answer, numbers
from process_group import exit_when_terminated

EXECUTION_MS_MIN = 0.01  # where a query takes hardly longer than its PREPARE


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def difference_of_rows(connection, text, result):
    """What differs between our result and DuckDB's answer, in any order; None if nothing."""
    return difference(result, *duckdb_answer(connection, text))


def compare(queries, program, connection, judge=difference_of_rows):
    """(what differs, by query; the queries that have no row here and so tell little)."""
    found, empty = {}, []
    for name, text in queries:
        try:
            (result,) = program.query([text])
        except RuntimeError as error:
            found[name] = str(error)
            continue
        # Outside: DuckDB, interrupted, is a RuntimeError too, and that is no answer.
        found[name] = judge(connection, text, result)
        if result.get("rows") == []:
            empty.append(name)
    return {name: differs for name, differs in found.items() if differs}, empty


def measure(queries, program, connection, threads, rounds, wrong):
    """Times of the queries that are not wrong, by their names; what fails becomes so."""
    connection.execute(f"set threads = {threads}")
    out = {}
    for name, text in queries:
        if name in wrong:
            continue
        connection.execute(text).fetchall()
        ours, whole, planning = [], [], []
        for _ in range(rounds):
            try:
                ours.append(our_milliseconds(program, text, threads))
            except RuntimeError as error:
                wrong[name] = f"{threads} thread(s): {error}"
                break
            whole.append(timed(lambda: connection.execute(text).fetchall()))
            planning.append(timed(lambda: connection.execute(f"prepare p as {text}")))
        if name in wrong:
            continue
        out[name] = {"ours": min(ours), "whole": min(whole),
                     "duckdb": max(min(whole) - min(planning), EXECUTION_MS_MIN)}
    return out


def timed(call):
    """In milliseconds."""
    begin = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - begin)


def our_milliseconds(program, text, threads):
    (result,) = program.query([text], threads=threads)
    if "error" in result:
        raise RuntimeError(result["error"])
    return float(result["execute_ms"])


def report(threads, times):
    print(f"\n{threads} thread{'s' if threads > 1 else ''}, ms of execution")
    print(f"{'query':16}{'ours':>10}{'DuckDB':>10}{'':>8}{'and its planning':>20}")
    lines = dict(times)
    # Of the others no time of DuckDB's is known.
    known = {name: of for name, of in times.items() if of["duckdb"] > EXECUTION_MS_MIN}
    if known:
        lines["geometric mean"] = {side: geometric_mean([of[side] for of in known.values()])
                                   for side in ("ours", "duckdb", "whole")}
    for name, of in lines.items():
        print(f"{name:16}{of['ours']:10.2f}{of['duckdb']:10.2f}{of['duckdb'] / of['ours']:7.1f}x"
              f"{of['whole']:20.2f}", flush=True)
    if len(known) < len(times):
        print("DuckDB took no longer than for a PREPARE, so the mean is without "
              f"{', '.join(name for name in times if name not in known)}", flush=True)


def parse_options(words, tool, description, scale_help, scale_min=0):
    parser = argparse.ArgumentParser(prog=tool, description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--check-arguments", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--scale", type=float, default=0.3, help=scale_help)
    parser.add_argument("--threads", type=numbers, default=[1, 2],
                        help="thread counts, one after the other; default 1,2")
    parser.add_argument("--rounds", type=int, default=3, help="calls of each query; default 3")
    parser.add_argument("--json", type=pathlib.Path, help="a file for the figures")
    options = parser.parse_args(words)
    if options.rounds < 1 or not 0 < options.scale < math.inf or not options.threads:
        parser.error("--threads and --rounds are at least 1, --scale is more than 0")
    if options.scale < scale_min:
        parser.error(f"--scale is at least {scale_min}")
    return options


def run(options, loaded, judge=difference_of_rows):
    """All of it, and the end of the process: exit code 1 where an answer differs or fails.

    loaded(program, connection, scale, folder) is a context in which both sides have the data; it
    gives the queries."""
    exit_when_terminated()
    import duckdb

    connection = duckdb.connect()
    print(f"making the data, scale {options.scale}", flush=True)
    program = Program(options.program, options.folder / "db")
    figures = {}
    with loaded(program, connection, options.scale, options.folder) as queries:
        wrong, empty = compare(queries, program, connection, judge)
        print(f"{len(queries)} answers compared, {len(wrong)} differ; without rows: "
              f"{', '.join(empty) or 'none'}", flush=True)
        for threads in options.threads:
            figures[threads] = measure(queries, program, connection, threads, options.rounds, wrong)
            report(threads, figures[threads])
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    for name, why in wrong.items():
        print(f"WRONG, and not measured: {name}: {why}", file=sys.stderr)
    sys.exit(1 if wrong else 0)
