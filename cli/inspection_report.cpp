#include "cli/inspection_report.h"

#include <span>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "cli/one_line.h"

namespace diptych::cli {
namespace {

using dispatcher::ChunkSizes;
using dispatcher::ChunkTotals;
using dispatcher::ColumnInspection;
using dispatcher::DamagedChunk;
using dispatcher::DatabaseInspection;
using dispatcher::TableInspection;
using Json = nlohmann::ordered_json;
using Name = std::string_view (*)(size_t index);

constexpr int kIndent = 2;

std::string ratio_text(const ChunkTotals& totals) {
  return totals.uncompressed_bytes == 0 ? "-" : fmt::format("{:.3f}", totals.ratio());
}

// "frame 3, dictionary 1": chunks by encoding.
std::string encodings_text(const ChunkSizes& sizes) {
  std::string text;
  for (size_t i = 0; i < sizes.by_encoding.size(); ++i) {
    const uint64_t chunks = sizes.by_encoding[i].chunks;
    if (chunks == 0) continue;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", dispatcher::encoding_name_at(i), chunks);
  }
  return text;
}

void add_tables(const DatabaseInspection& inspection, std::string* out) {
  *out += fmt::format("\n{:<16}{:>13}{:>13}{:>12}{:>8}{:>11}{:>9}{:>15}{:>15}{:>7}\n", "Table",
                      "rows", "live", "hot rows", "blocks", "page runs", "chunks", "uncompressed",
                      "compressed", "ratio");
  for (const TableInspection& table : inspection.tables) {
    const ChunkTotals& all = table.sizes.all;
    *out += fmt::format("{:<16}{:>13}{:>13}{:>12}{:>8}{:>11}{:>9}{:>15}{:>15}{:>7}\n",
                        on_one_line(table.name), table.rows, table.live_rows, table.hot_rows,
                        table.blocks, table.page_leaves, all.chunks, all.uncompressed_bytes,
                        all.compressed_bytes, ratio_text(all));
  }
  const ChunkTotals& all = inspection.sizes.all;
  *out += fmt::format("{:<82}{:>15}{:>15}{:>7}\n", "all", all.uncompressed_bytes,
                      all.compressed_bytes, ratio_text(all));
}

void add_columns(const TableInspection& table, std::string* out) {
  *out += fmt::format("\n{:<24}{:<14}{:>15}{:>15}{:>7}  {}\n", on_one_line(table.name), "type",
                      "uncompressed", "compressed", "ratio", "encodings, by chunks");
  for (const ColumnInspection& column : table.columns) {
    const ChunkTotals& all = column.sizes.all;
    *out += fmt::format("  {:<22}{:<14}{:>15}{:>15}{:>7}  {}\n", on_one_line(column.name),
                        column.type.to_string(), all.uncompressed_bytes, all.compressed_bytes,
                        ratio_text(all), encodings_text(column.sizes));
  }
}

void add_groups(std::string_view title, std::span<const ChunkTotals> groups, Name name,
                std::string* out) {
  *out += fmt::format("\n{:<24}{:>9}{:>15}{:>15}{:>15}{:>7}\n", title, "chunks", "values",
                      "uncompressed", "compressed", "ratio");
  for (size_t i = 0; i < groups.size(); ++i) {
    const ChunkTotals& group = groups[i];
    if (group.chunks == 0) continue;
    *out += fmt::format("{:<24}{:>9}{:>15}{:>15}{:>15}{:>7}\n", name(i), group.chunks, group.values,
                        group.uncompressed_bytes, group.compressed_bytes, ratio_text(group));
  }
}

Json totals_json(const ChunkTotals& totals) {
  const bool has_ratio = totals.uncompressed_bytes != 0;
  return {{"chunks", totals.chunks},
          {"values", totals.values},
          {"compressed_bytes", totals.compressed_bytes},
          {"uncompressed_bytes", totals.uncompressed_bytes},
          {"file_bytes", totals.file_bytes},
          {"ratio", has_ratio ? Json(totals.ratio()) : Json(nullptr)}};
}

Json groups_json(std::span<const ChunkTotals> groups, Name name) {
  Json out = Json::object();
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].chunks != 0) out[std::string(name(i))] = totals_json(groups[i]);
  }
  return out;
}

void put_sizes(const ChunkSizes& sizes, Json* out) {
  out->update(totals_json(sizes.all));
  (*out)["encodings"] = groups_json(sizes.by_encoding, dispatcher::encoding_name_at);
  (*out)["temperatures"] = groups_json(sizes.by_temperature, dispatcher::temperature_name_at);
}

Json table_json(const TableInspection& table) {
  Json out = {{"rows", table.rows},
              {"live_rows", table.live_rows},
              {"hot_rows", table.hot_rows},
              {"leaves", table.blocks + table.page_leaves},
              {"blocks", table.blocks},
              {"page_leaves", table.page_leaves},
              {"directory_bytes", table.directory_bytes}};
  put_sizes(table.sizes, &out);
  Json columns = Json::object();
  for (const ColumnInspection& column : table.columns) {
    Json entry = {{"type", column.type.to_string()}};
    put_sizes(column.sizes, &entry);
    columns[column.name] = std::move(entry);
  }
  out["columns"] = std::move(columns);
  return out;
}

Json damage_json(const DamagedChunk& chunk) {
  return {{"table", chunk.table},         {"column", chunk.column},
          {"partition", chunk.partition}, {"first_row", chunk.first_row},
          {"last_row", chunk.last_row},   {"file", chunk.file},
          {"byte", chunk.offset},         {"what", chunk.what}};
}

}  // namespace

std::string to_table(const std::string& path, const DatabaseInspection& inspection,
                     uint64_t logged) {
  const auto& manifest = inspection.manifest;
  std::string out = fmt::format(
      "{}: as of VID {}, save {}, {} partitions a table, blocks of {} rows\n{}: {} bytes, {} used, "
      "{} free\n",
      path, manifest.vid.value, manifest.generation, manifest.partitions, manifest.block_rows,
      inspection.block_file, inspection.file_bytes, inspection.file_bytes - inspection.free_bytes,
      inspection.free_bytes);
  if (logged != 0) {
    out += fmt::format("log: {} not replayed, which the tables below lack; see diptych verify\n",
                       base::counted(logged, "transaction"));
  }
  add_tables(inspection, &out);
  for (const TableInspection& table : inspection.tables) add_columns(table, &out);
  add_groups("Encoding", inspection.sizes.by_encoding, dispatcher::encoding_name_at, &out);
  add_groups("Temperature", inspection.sizes.by_temperature, dispatcher::temperature_name_at, &out);
  if (!inspection.verified) return out;
  out +=
      fmt::format("\nverified {} chunks, {} bytes", inspection.chunks_read, inspection.bytes_read);
  const size_t damaged = inspection.damaged.size();
  return out + (damaged == 0 ? "\n" : fmt::format("; {} damaged\n", damaged));
}

std::string to_json(const std::string& path, const DatabaseInspection& inspection,
                    uint64_t logged) {
  const auto& manifest = inspection.manifest;
  Json out = {{"path", path},
              {"format", manifest.format},
              {"generation", manifest.generation},
              {"vid", manifest.vid.value},
              {"partitions", manifest.partitions},
              {"block_rows", manifest.block_rows},
              {"logged_transactions", logged},
              {"block_file",
               {{"path", inspection.block_file},
                {"bytes", inspection.file_bytes},
                {"used_bytes", inspection.file_bytes - inspection.free_bytes},
                {"free_bytes", inspection.free_bytes}}}};
  put_sizes(inspection.sizes, &out);
  Json tables = Json::object();
  for (const TableInspection& table : inspection.tables) tables[table.name] = table_json(table);
  out["tables"] = std::move(tables);
  out["verified"] = inspection.verified;
  out["chunks_read"] = inspection.chunks_read;
  out["bytes_read"] = inspection.bytes_read;
  Json damaged = Json::array();
  for (const DamagedChunk& chunk : inspection.damaged) damaged.push_back(damage_json(chunk));
  out["damaged"] = std::move(damaged);
  return out.dump(kIndent, ' ', false, Json::error_handler_t::replace);
}

std::string damage_text(const DatabaseInspection& inspection) {
  std::string out;
  for (const DamagedChunk& chunk : inspection.damaged) {
    out += fmt::format(
        "diptych: damaged: table \"{}\", partition {}, rows {} to {}, column \"{}\", {} byte {}: "
        "{}\n",
        on_one_line(chunk.table), chunk.partition, chunk.first_row, chunk.last_row,
        on_one_line(chunk.column), chunk.file, chunk.offset, chunk.what);
  }
  return out;
}

}  // namespace diptych::cli
