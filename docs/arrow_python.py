"""docs/sql.md's Python: a query's result as a pyarrow.Table, through the library that
arrow_python.cpp becomes. Usage: arrow_python.py LIBRARY"""

import ctypes
import sys

import pyarrow


class Stream(ctypes.Structure):  # ArrowArrayStream
    _fields_ = [(name, ctypes.c_void_p) for name in
                ("get_schema", "get_next", "get_last_error", "release", "private_data")]


library = ctypes.CDLL(sys.argv[1])
library.open_database.restype = ctypes.c_void_p
library.query.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(Stream)]
library.query.restype = ctypes.c_bool
library.close_database.argtypes = [ctypes.c_void_p]

database = library.open_database(b"")  # in memory; b"shop" is one at a path
stream = Stream()
if library.query(database, b"SELECT n, n * 0.5 AS half FROM generate_series(1, 3) AS s(n)", stream):
    reader = pyarrow.RecordBatchReader._import_from_c(ctypes.addressof(stream))
    print(reader.read_all().to_pydict())
library.close_database(database)
