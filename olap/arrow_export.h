// Arrow export: a query's result as Arrow record batches, through the Arrow C data interface
// (https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html), without a
// copy: an exported array points at the result's own buffers and keeps them until it is released.
//
//   INT int32, BIGINT int64, DECIMAL(p,s) decimal128(p,s) of at most 38 digits, DOUBLE float64,
//   BOOLEAN bool, DATE date32, TIMESTAMP timestamp[us] without a zone, INTERVAL
//   month_day_nano_interval, texts large_utf8
//
// Intervals are copied, because Arrow counts their time in nanoseconds; a time beyond 292 years
// fails.
//
// Every column is nullable, whatever the table's schema says. A chunk of the result is a batch; a
// result without rows is a stream without batches.
//
// Threads    any thread may release an export, which may outlive its result.
// Use        PyArrow: pyarrow.RecordBatchReader._import_from_c(address of the stream).

#pragma once

#include <cstdint>

#include "base/result.h"
#include "olap/query_result.h"

// The public ABI as its specification defines it. The guards let a program include it twice.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
}

#endif  // ARROW_C_DATA_INTERFACE

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

extern "C" {
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
}

#endif  // ARROW_C_STREAM_INTERFACE

namespace diptych::olap {

// Each function fills `out`, which the caller releases by out->release(out). The schema is a struct
// with the columns as fields, and a batch is an array of that struct.
void export_arrow_schema(const QueryResult& result, ArrowSchema* out);
// Exports chunk `chunk`. Fails with 22008 if a column cannot be exported; then there is nothing to
// release.
[[nodiscard]] base::Result<void> export_arrow_batch(const QueryResult& result, size_t chunk,
                                                    ArrowArray* out);
// Exports all batches. get_next() returns EOVERFLOW if a batch fails.
void export_arrow_stream(const QueryResult& result, ArrowArrayStream* out);

}  // namespace diptych::olap
