#include "olap/arrow_export.h"

#include <algorithm>
#include <memory>
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

struct ArrayNode {
  Table table;  // keeps the buffers
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

void fill_array(const Table& table, uint64_t rows, uint64_t nulls, std::vector<const void*> buffers,
                std::vector<ArrowArray> children, ArrowArray* out) {
  auto node = std::make_unique<ArrayNode>();
  node->table = table;
  node->buffers = std::move(buffers);
  node->children = std::move(children);
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

void export_batch(const Table& table, size_t number, ArrowArray* out) {
  const ResultChunk& chunk = table->chunks()[number];
  std::vector<ArrowArray> children(chunk.columns.size());
  for (size_t c = 0; c < children.size(); ++c) {
    const ResultArray& array = chunk.columns[c];
    std::vector<const void*> buffers = {array.validity(), array.values()};
    if (array.type().is_string()) buffers.push_back(array.texts());
    fill_array(table, chunk.rows, array.null_count(), std::move(buffers), {}, &children[c]);
  }
  fill_array(table, chunk.rows, 0, {nullptr}, std::move(children), out);
}

struct StreamNode {
  std::vector<ResultColumn> columns;
  Table table;
  size_t next = 0;  // batch
};

StreamNode* node_of(ArrowArrayStream* stream) {
  return static_cast<StreamNode*>(stream->private_data);
}

int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  export_schema(node_of(stream)->columns, out);
  return 0;
}

// Past the end: an array that is released already.
int stream_next(ArrowArrayStream* stream, ArrowArray* out) {
  StreamNode* const node = node_of(stream);
  *out = {};
  if (node->table == nullptr || node->next == node->table->chunks().size()) return 0;
  export_batch(node->table, node->next++, out);
  return 0;
}

const char* stream_last_error(ArrowArrayStream*) {
  return nullptr;  // no call fails
}

void stream_release(ArrowArrayStream* stream) {
  delete node_of(stream);
  stream->release = nullptr;
}

}  // namespace

void export_arrow_schema(const QueryResult& result, ArrowSchema* out) {
  export_schema(result.columns, out);
}

void export_arrow_batch(const QueryResult& result, size_t chunk, ArrowArray* out) {
  const Table& table = result.rows.table();
  DIPTYCH_CHECK(table != nullptr && chunk < table->chunks().size(), "a chunk of the result");
  export_batch(table, chunk, out);
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
