// docs/sql.md's example: a query's result as Arrow record batches, read where the engine left it.

#include "olap/arrow_export.h"

#include <cinttypes>
#include <cstdio>

#include "dispatcher/database.h"

using namespace diptych;

int main() {
  auto database = *dispatcher::Database::open({});
  auto result =
      database->query("SELECT n, n::bigint * n AS square FROM generate_series(1, 3) AS series(n)");
  if (!result) return std::puts(result.error().to_string().c_str()), 1;

  ArrowArrayStream stream;
  olap::export_arrow_stream(*result, &stream);  // may outlive the result
  ArrowSchema schema;
  stream.get_schema(&stream, &schema);
  for (int64_t i = 0; i < schema.n_children; ++i) {
    std::printf("%s: %s\n", schema.children[i]->name, schema.children[i]->format);
  }
  ArrowArray batch;
  while (stream.get_next(&stream, &batch) == 0 && batch.release != nullptr) {
    const auto* squares = static_cast<const int64_t*>(batch.children[1]->buffers[1]);
    for (int64_t row = 0; row < batch.length; ++row) std::printf("%" PRId64 "\n", squares[row]);
    batch.release(&batch);
  }
  schema.release(&schema);
  stream.release(&stream);
}
