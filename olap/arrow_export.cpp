#include "olap/arrow_export.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"

namespace diptych::olap {

namespace {

using base::TypeKind;
using Table = std::shared_ptr<const ResultTable>;  // shared_ptr: as result_rows.h says

std::string format_of(const base::DataType& type) {
  switch (type.kind) {
    case TypeKind::kInt: return "i";
    case TypeKind::kBigInt: return "l";
    case TypeKind::kDecimal: return fmt::format("d:{},{}", type.precision, type.scale);
    case TypeKind::kDouble: return "g";
    case TypeKind::kBoolean: return "b";
    case TypeKind::kDate: return "tdD";
    case TypeKind::kTimestamp: return "tsu:";
    case TypeKind::kInterval: return "tin";
    case TypeKind::kChar:
    case TypeKind::kVarchar: break;
  }
  return "U";
}

// What an exported schema or array owns; its release() deletes it with all its children. A child
// that its user has moved away has no release(), and owns itself there.
struct SchemaNode {
  std::string format;
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
};

// Arrow's form of an interval.
struct MonthDayNano {
  int32_t months;
  int32_t days;
  int64_t nanos;
};

struct ArrayNode {
  Table table;                          // keeps the buffers
  std::vector<MonthDayNano> intervals;  // the values, where they are some
  std::vector<const void*> buffers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
};

template <class Exported, class Node>
void release_node(Exported* exported) {
  const std::unique_ptr<Node> node(static_cast<Node*>(exported->private_data));
  for (Exported* child : node->pointers) {
    if (child->release != nullptr) child->release(child);
  }
  exported->release = nullptr;
}

void fill_schema(std::string format, std::string name, std::vector<ArrowSchema> children,
                 ArrowSchema* out) {
  auto node = std::make_unique<SchemaNode>();
  node->format = std::move(format);
  node->name = std::move(name);
  node->children = std::move(children);
  for (ArrowSchema& child : node->children) node->pointers.push_back(&child);
  *out = {};
  out->format = node->format.c_str();
  out->name = node->name.c_str();
  out->n_children = static_cast<int64_t>(node->pointers.size());
  out->children = node->pointers.empty() ? nullptr : node->pointers.data();
  out->release = release_node<ArrowSchema, SchemaNode>;
  out->private_data = node.release();
}

void fill_array(std::unique_ptr<ArrayNode> node, uint64_t rows, uint64_t nulls, ArrowArray* out) {
  for (ArrowArray& child : node->children) node->pointers.push_back(&child);
  *out = {};
  out->length = static_cast<int64_t>(rows);
  out->null_count = static_cast<int64_t>(nulls);
  out->n_buffers = static_cast<int64_t>(node->buffers.size());
  out->buffers = node->buffers.data();
  out->n_children = static_cast<int64_t>(node->pointers.size());
  out->children = node->pointers.empty() ? nullptr : node->pointers.data();
  out->release = release_node<ArrowArray, ArrayNode>;
  out->private_data = node.release();
}

void export_schema(const std::vector<ResultColumn>& columns, ArrowSchema* out) {
  std::vector<ArrowSchema> children(columns.size());
  for (size_t c = 0; c < columns.size(); ++c) {
    fill_schema(format_of(columns[c].type), columns[c].name, {}, &children[c]);
    children[c].flags = ARROW_FLAG_NULLABLE;
  }
  fill_schema("+s", "", std::move(children), out);
}

base::Result<std::vector<MonthDayNano>> arrow_intervals(const ResultArray& array,
                                                        const std::string& name) {
  std::vector<MonthDayNano> intervals(array.rows());
  for (uint64_t row = 0; row < array.rows(); ++row) {
    if (array.is_null(row)) continue;
    const auto interval = std::get<base::Interval>(array.value(row));
    MonthDayNano& to = intervals[row];
    to = {interval.months, interval.days, 0};
    if (__builtin_mul_overflow(interval.micros, int64_t{1000}, &to.nanos)) {
      return base::Error(base::ErrorCode::kInvalidArgument, "22008",
                         fmt::format("column \"{}\": the time of the INTERVAL {} is beyond Arrow's "
                                     "nanoseconds; justify_hours() makes days of it",
                                     name, base::to_string(interval)));
    }
  }
  return intervals;
}

base::Result<void> export_batch(const Table& table, size_t number, ArrowArray* out) {
  const ResultChunk& chunk = table->chunks()[number];
  auto batch = std::make_unique<ArrayNode>();
  batch->table = table;
  batch->buffers = {nullptr};
  std::vector<std::unique_ptr<ArrayNode>> columns;
  for (size_t c = 0; c < chunk.columns.size(); ++c) {
    const ResultArray& array = chunk.columns[c];
    auto node = std::make_unique<ArrayNode>();
    node->table = table;
    node->buffers = {array.validity(), array.values()};
    if (array.type().is_string()) node->buffers.push_back(array.texts());
    if (array.type().kind == TypeKind::kInterval) {
      auto intervals = arrow_intervals(array, table->columns()[c].name);
      if (!intervals) return intervals.error();
      node->intervals = *std::move(intervals);
      node->buffers[1] = node->intervals.data();
    }
    columns.push_back(std::move(node));
  }
  batch->children.resize(columns.size());
  batch->pointers.reserve(columns.size());  // behind here nothing throws
  for (size_t c = 0; c < columns.size(); ++c) {
    fill_array(std::move(columns[c]), chunk.rows, chunk.columns[c].null_count(),
               &batch->children[c]);
  }
  fill_array(std::move(batch), chunk.rows, 0, out);
  return {};
}

struct StreamNode {
  std::vector<ResultColumn> columns;
  Table table;
  size_t next = 0;  // batch
  std::string error;
};

StreamNode* node_of(ArrowArrayStream* stream) {
  return static_cast<StreamNode*>(stream->private_data);
}

int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  try {
    export_schema(node_of(stream)->columns, out);
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

// Past the end: an array that is released already.
int stream_next(ArrowArrayStream* stream, ArrowArray* out) {
  StreamNode* const node = node_of(stream);
  *out = {};
  if (node->table == nullptr || node->next == node->table->chunks().size()) return 0;
  try {
    if (auto exported = export_batch(node->table, node->next, out); !exported) {
      node->error = exported.error().message;
      return EOVERFLOW;
    }
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
  ++node->next;
  return 0;
}

const char* stream_last_error(ArrowArrayStream* stream) {
  const std::string& error = node_of(stream)->error;
  return error.empty() ? nullptr : error.c_str();
}

void stream_release(ArrowArrayStream* stream) {
  delete node_of(stream);
  stream->release = nullptr;
}

}  // namespace

void export_arrow_schema(const QueryResult& result, ArrowSchema* out) {
  export_schema(result.columns, out);
}

base::Result<void> export_arrow_batch(const QueryResult& result, size_t chunk, ArrowArray* out) {
  const Table& table = result.rows.table();
  DIPTYCH_CHECK(table != nullptr && chunk < table->chunks().size(), "a chunk of the result");
  return export_batch(table, chunk, out);
}

void export_arrow_stream(const QueryResult& result, ArrowArrayStream* out) {
  auto node = std::make_unique<StreamNode>();
  node->columns = result.columns;
  node->table = result.rows.table();
  *out = {};
  out->get_schema = stream_schema;
  out->get_next = stream_next;
  out->get_last_error = stream_last_error;
  out->release = stream_release;
  out->private_data = node.release();
}

}  // namespace diptych::olap
