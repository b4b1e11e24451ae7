"""What may stand where: for each type, how an expression of that type can be made.

kind: (weight, template, kinds of the children). N stands for any one kind of number, A for any one
kind, the same in the whole production. `bigint` is also what counts and sums are. A template has {}
for each child, and {0} for the first once more. What stands under POSTGRES is not asked of DuckDB,
which has other names or other answers.
"""

from random_schema import NUMBERS

PRODUCTIONS = {
    "bool": [
        (6, "{} = {}", "AA"), (3, "{} <> {}", "AA"), (4, "{} < {}", "AA"), (3, "{} >= {}", "AA"),
        (3, "{} AND {}", ["bool", "bool"]), (4, "({} OR {})", ["bool", "bool"]),
        (2, "NOT ({})", ["bool"]), (3, "{} IS NULL", "A"), (2, "{} IS NOT NULL", "A"),
        (2, "{} BETWEEN {} AND {}", "AAA"), (2, "{} NOT BETWEEN {} AND {}", "AAA"),
        (1, "{} > {}", ["int", "decimal"]), (1, "{} <= {}", ["bigint", "double"]),
        (1, "{} IS DISTINCT FROM {}", "AA"), (1, "{} = {}", ["date", "timestamp"]),
        (1, "{} - {} < INTERVAL '30' DAY", ["timestamp", "timestamp"]),
        (1, "{} - {} = {} - {}", ["timestamp", "timestamp", "timestamp", "timestamp"]),
        (1, "starts_with({}, 'a')", ["text"]), (1, "({}) IS TRUE", ["bool"]),
        (1, "({}) IS NOT FALSE", ["bool"]),
    ],
    "int": [
        (1, "abs({})", ["int"]), (1, "-({})", ["int"]), (4, "({} + {})", ["int", "int"]),
        (2, "({} - {})", ["int", "int"]), (3, "({} * {})", ["int", "int"]),
        (2, "mod({}, 3)", ["int"]), (1, "ascii({})", ["text"]), (1, "strpos({}, 'b')", ["text"]),
        (1, "({} - {})", ["date", "date"]),
        (1, "position({} IN {})", ["text", "text"]),
    ],
    "bigint": [
        (4, "({} + {})", ["bigint", "int"]), (3, "({} - {})", ["bigint", "int"]),
        (3, "({} * {})", ["int", "bigint"]), (2, "({} % 7)", ["bigint"]),
        (2, "length({})", ["text"]), (1, "abs({})", ["bigint"]),
        (2, "extract(year FROM {})", ["date"]), (1, "extract(month FROM {})", ["timestamp"]),
        (1, "extract(day FROM {})", ["date"]), (1, "extract(hour FROM {})", ["timestamp"]),
        (1, "extract(day FROM {} - {})", ["timestamp", "timestamp"]),
        (1, "CAST({} AS BIGINT)", ["int"]), (1, "extract(dow FROM {})", ["date"]),
        (1, "extract(quarter FROM {})", ["timestamp"]), (1, "extract(doy FROM {})", ["date"]),
    ],
    "decimal": [
        (3, "({} + {})", ["decimal", "decimal"]), (3, "({} - {})", ["decimal", "int"]),
        (2, "({} * {})", ["decimal", "int"]), (1, "-({})", ["decimal"]),
        (1, "abs({})", ["decimal"]),
        (1, "CAST({} AS DECIMAL(12,2))", ["int"]),
        (1, "CAST(round({}, 1) AS DECIMAL(18,2))", ["decimal"]),
        (1, "CAST(round({}) AS DECIMAL(18,2))", ["decimal"]),
        (1, "CAST(trunc({}) AS DECIMAL(18,2))", ["decimal"]),
        (1, "CAST(floor({}) AS DECIMAL(18,2))", ["decimal"]),
        (1, "CAST(ceil({}) AS DECIMAL(18,2))", ["decimal"]),
        # What a literal that could be an integer makes of one.
        (1, "CAST(round(coalesce({}, 2.00) / 4, 2) AS DECIMAL(18,2))", ["int"]),
        (1, "CAST(round(greatest({}, 0.0) / 4, 2) AS DECIMAL(18,2))", ["int"]),
        (1, "CAST(round(CASE WHEN {} THEN {} ELSE 1.0 END / 4, 2) AS DECIMAL(18,2))",
         ["bool", "int"]),
    ],
    "double": [
        (3, "({} + {})", ["double", "double"]), (2, "({} * {})", ["double", "double"]),
        (2, "({} / CAST(4 AS DOUBLE PRECISION))", ["double"]), (1, "floor({})", ["double"]),
        (1, "ceil({})", ["double"]), (1, "CAST({} AS DOUBLE PRECISION)", ["int"]),
        (1, "abs({})", ["double"]), (1, "sign({})", ["double"]),
    ],
    "text": [
        (2, "upper({})", ["text"]), (2, "lower({})", ["text"]), (3, "({} || {})", ["text", "text"]),
        (2, "substring({} FROM 2 FOR 3)", ["text"]), (1, "substr({}, 1, 1)", ["text"]),
        (1, "trim({})", ["text"]), (1, "CAST({} AS VARCHAR)", ["int"]),
        (1, "replace({}, 'a', 'q')", ["text"]), (1, "left({}, 2)", ["text"]),
        (1, "right({}, -1)", ["text"]), (1, "lpad({}, 5, '*')", ["text"]),
        (1, "rpad({}, 3, 'xy')", ["text"]), (1, "reverse({})", ["text"]),
        (1, "split_part({}, 'b', 1)", ["text"]), (1, "translate({}, 'ab', 'x')", ["text"]),
        (1, "repeat({}, 2)", ["text"]), (1, "concat(CAST({} AS VARCHAR), {})", ["text", "int"]),
        (1, "ltrim({}, 'a')", ["text"]), (1, "CAST({} AS VARCHAR)", ["date"]),
    ],
    "date": [(1, "CAST({} AS DATE)", ["timestamp"]), (1, "({} + {})", ["date", "int"])],
    "timestamp": [(1, "CAST({} AS TIMESTAMP)", ["date"]),
                  (1, "({} + INTERVAL '1' DAY)", ["timestamp"]),
                  (1, "({} - INTERVAL '1' MONTH)", ["date"]),
                  (1, "date_trunc('month', {})", ["timestamp"]),
                  (1, "date_trunc('week', {})", ["timestamp"]),
                  (1, "date_trunc('hour', {})", ["timestamp"])],
}
FOR_ANY = [  # of the type asked for
    (2, "CASE WHEN {} THEN {} ELSE {} END", ["bool", "=", "="]), (1, "CASE WHEN {} THEN {} END",
                                                                  ["bool", "="]),
    (2, "coalesce({}, {})", ["=", "="]), (1, "nullif({}, {})", ["=", "="]),
    (1, "greatest({}, {})", ["=", "="]), (1, "least({}, {}, {})", ["=", "=", "="]),
    (1, "CASE {} WHEN {} THEN {} ELSE {} END", ["int", "int", "=", "="]),
]
# A covariance is of whole numbers, which no engine's sums round: the error of other sums is not
# relative to a covariance that is 0.
AGGREGATES = {
    "bigint": [(4, "count(*)", []), (3, "count({})", "A"), (2, "count(DISTINCT {})", "A"),
               (3, "sum({})", ["int"]), (1, "sum({})", ["bigint"]),
               (1, "sum(DISTINCT {})", ["int"]), (1, "bit_and({})", ["int"]),
               (1, "bit_or({})", ["int"]), (1, "bit_xor({})", ["int"]),
               (1, "greatest(sum({}), sum({0} + 3), sum({0} - 2), sum(7 - {0}), sum(1 + {0}))",
                ["int"]),
               (1, "regr_count({}, {})", ["int", "double"]),
               (1, "count(DISTINCT {} - {})", ["timestamp", "timestamp"]),
               (1, "extract(day FROM max({} - {}))", ["timestamp", "timestamp"]),
               (1, "count(*) FILTER (WHERE {})", ["bool"])],
    "double": [(2, "avg({})", ["int"]), (1, "avg({})", ["double"]), (2, "sum({})", ["double"]),
               (1, "percentile_cont(0.25) WITHIN GROUP (ORDER BY {})", ["int"]),
               (1, "percentile_cont(0.5) WITHIN GROUP (ORDER BY {} DESC)", ["double"]),
               (1, "stddev({})", ["int"]), (1, "var_pop({})", ["double"]),
               (1, "variance({})", ["decimal"]), (1, "stddev_pop({})", ["int"]),
               (1, "covar_pop({}, {})", ["int"] * 2)],
    "decimal": [(3, "sum({})", ["decimal"]),
                (1, "greatest(sum({}), sum({0} + 1.5), sum({0} - 2), sum(7.25 - {0}))",
                 ["decimal"])],
    "text": [(2, "string_agg({}, ',' ORDER BY {0})", ["text"]),
             (1, "string_agg(DISTINCT {}, ',' ORDER BY {0} DESC NULLS LAST)", ["text"])],
    "bool": [(1, "bool_and({})", ["bool"]), (1, "bool_or({})", ["bool"])],
}
SAME_KIND_AGGREGATES = [  # no mode(): of values that are as frequent DuckDB's is any
    (2, "min({})", ["="]), (2, "max({})", ["="]),
    (1, "percentile_disc(0.25) WITHIN GROUP (ORDER BY {})", ["="]),
    (1, "percentile_disc(0.5) WITHIN GROUP (ORDER BY {} DESC)", ["="]),
]

# With aggregates in them; {} is a group.
WINDOWS_OF_GROUPS = ["rank() OVER (ORDER BY count(*) DESC)",
                     "sum(count(*)) OVER (ORDER BY {} NULLS FIRST)",
                     "count(*) OVER (PARTITION BY count(*))",
                     "max(count(*)) OVER (PARTITION BY {})"]

# Over windows: what does not depend on the order of peers, nor do these frames.
WINDOWED = [
    (3, "bigint", "sum({})", ["int"]), (2, "bigint", "count({})", ["text"]),
    (2, "int", "min({})", ["int"]), (2, "text", "max({})", ["text"]),
    (2, "decimal", "sum({})", ["decimal"]), (1, "double", "avg({})", ["int"]),
    (1, "int", "bit_and({})", ["int"]), (1, "int", "bit_or({})", ["int"]),
    (1, "int", "bit_xor({})", ["int"]), (1, "bigint", "count(*)", []),
    (1, "bigint", "regr_count({}, {})", ["int", "double"]),
    (1, "bigint", "sum({}) FILTER (WHERE {})", ["int", "bool"]),
    (1, "bigint", "rank()", []), (1, "bigint", "dense_rank()", []),
    (1, "double", "percent_rank()", []), (1, "double", "cume_dist()", []),
]
FRAMES = ["", "", " GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW",
          " GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING",
          " GROUPS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
          " GROUPS BETWEEN 2 PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE GROUP",
          " RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE TIES",
          " RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW"]
# By the type of the one column that rows are ordered by.
RANGES = {
    **dict.fromkeys(NUMBERS, [" RANGE BETWEEN 3 PRECEDING AND 2 FOLLOWING",
                              " RANGE BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING"]),
    **dict.fromkeys(("date", "timestamp"), [
        " RANGE BETWEEN INTERVAL '40' DAY PRECEDING AND CURRENT ROW",
        " RANGE BETWEEN INTERVAL '1' MONTH PRECEDING AND INTERVAL '1' DAY FOLLOWING"])}
# Of rows in a total order.
NUMBERED = [
    (3, "bigint", "row_number()", []), (2, "int", "lag({})", ["int"]),
    (2, "text", "lead({}, 2)", ["text"]), (1, "int", "lag({}, 1, -1)", ["int"]),
    (1, "int", "ntile(3)", []),
]
ROWS = [" ROWS UNBOUNDED PRECEDING", " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
        " ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
        " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW"]
OF_ROWS = [(1, "text", "first_value({})", ["text"]), (1, "int", "last_value({})", ["int"]),
           (1, "date", "nth_value({}, 2)", ["date"])]


LIKED = ["%a%", "a%", "%b", "_b%", "%", "", "100%", "a_b", "%x y%"]
MATCHED = ["^.*a.*$", "^[ab]+$", "^a?b.*$", "^$", "^(a|zz).*$", "^[^a]{2,}$"]
PATTERNS = [("NOT LIKE", LIKED), ("NOT LIKE", LIKED), ("NOT ILIKE", LIKED), ("~", MATCHED),
            ("!~", MATCHED), ("NOT SIMILAR TO", ["(a|b)+", "[a-z]*", "a(b|c)*", "zz|x y"])]

# What a recursion's columns are cast to: both terms have one type.
RECURSION_TYPES = {"int": "INT", "bigint": "BIGINT", "decimal": "DECIMAL(18,4)",
                   "double": "DOUBLE PRECISION", "bool": "BOOLEAN", "date": "DATE",
                   "timestamp": "TIMESTAMP", "text": "VARCHAR"}

