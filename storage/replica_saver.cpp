#include "storage/replica_saver.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "storage/file.h"
#include "storage/table_file.h"

namespace diptych::storage {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifestName = "manifest.json";
constexpr const char* kNewManifestName = "manifest.json.new";
constexpr const char* kTableFileSuffix = ".dtf";
constexpr size_t kNameBytesMax = 180;  // a file name has at most 255 bytes

std::string file_name(const base::TableSchema& schema, uint64_t generation) {
  std::string name;
  for (const char c : schema.name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    name += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  // Two long names may begin alike; their TableIds differ.
  if (name.size() > kNameBytesMax) {
    name = fmt::format("{}%{}", name.substr(0, kNameBytesMax), schema.id.value);
  }
  return fmt::format("{}-{}{}", name, generation, kTableFileSuffix);
}

base::Result<std::vector<std::string>> table_files(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator entry(directory, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (name.ends_with(kTableFileSuffix)) names.push_back(name);
  }
  if (failed) return system_error("read", directory, failed.value());
  return names;
}

// One more than any that has left a file, so that no file of the present state is overwritten.
base::Result<uint64_t> next_generation(const std::string& directory) {
  uint64_t newest = 0;
  const base::Result<Manifest> present = read_manifest(directory);
  if (present.ok()) newest = present->generation;
  const auto files = table_files(directory);
  if (!files.ok()) return files.error();
  for (const std::string& name : *files) {
    const size_t dash = name.rfind('-');
    if (dash == std::string::npos) continue;
    uint64_t generation = 0;
    const char* const end = name.data() + name.size() - std::string_view(kTableFileSuffix).size();
    const auto parsed = std::from_chars(name.data() + dash + 1, end, generation);
    if (parsed.ec == std::errc() && parsed.ptr == end) newest = std::max(newest, generation);
  }
  return newest + 1;
}

}  // namespace

ReplicaSaver::ReplicaSaver(std::string directory, const Replica& replica, BeforeSaveStep before)
    : directory_(std::move(directory)), replica_(&replica), before_(std::move(before)) {}

base::Result<void> ReplicaSaver::write_tables() {
  for (uint32_t i = 0; i < replica_->table_count(); ++i) {
    base::Result<void> go = before_(SaveStep::kWriteTable);
    if (!go.ok()) return go;
    const Table& table = replica_->table(base::TableId(i));
    const std::string name = file_name(table.schema(), manifest_.generation);
    const base::Result<TableFileInfo> info = write_table_file(path(name), table);
    if (!info.ok()) return info.error();
    manifest_.tables.push_back(
        {table.schema().name, name, info->rows, info->bytes, info->checksum});
  }
  return {};
}

base::Result<void> ReplicaSaver::write_manifest_file() {
  base::Result<void> done = before_(SaveStep::kWriteManifest);
  if (!done.ok()) return done;
  const base::Result<std::string> text = manifest_to_text(manifest_);
  if (!text.ok()) return text.error();
  base::Result<OutputFile> file = OutputFile::create(path(kNewManifestName));
  if (!file.ok()) return file.error();
  done = file->write(std::as_bytes(std::span(*text)));
  if (done.ok()) done = file->keep();
  if (!done.ok()) return done;
  // The table files' names must be durable before a manifest that names them can be.
  done = sync_directory(directory_);
  if (done.ok()) done = before_(SaveStep::kSwitch);
  if (!done.ok()) return done;
  if (std::rename(path(kNewManifestName).c_str(), path(kManifestName).c_str()) != 0) {
    return system_error("rename to manifest.json", path(kNewManifestName), errno);
  }
  return {};
}

void ReplicaSaver::remove_files_but(const std::vector<ManifestTable>& kept) const {
  std::set<std::string> keep;
  for (const ManifestTable& table : kept) keep.insert(table.file);
  const auto files = table_files(directory_);
  if (!files.ok()) return;  // a file too many does no harm
  for (const std::string& name : *files) {
    if (!keep.contains(name)) ::unlink(path(name).c_str());
  }
  ::unlink(path(kNewManifestName).c_str());
}

base::Result<Manifest> ReplicaSaver::save(const std::vector<std::string>& ddl) {
  manifest_ = Manifest();
  const auto generation = next_generation(directory_);
  if (!generation.ok()) return generation.error();
  manifest_.generation = *generation;
  manifest_.vid = replica_->snapshot();
  manifest_.partitions = replica_->partition_count();
  manifest_.ddl = ddl;
  base::Result<void> done = write_tables();
  if (done.ok()) done = write_manifest_file();
  if (!done.ok()) {
    for (const ManifestTable& table : manifest_.tables) ::unlink(path(table.file).c_str());
    ::unlink(path(kNewManifestName).c_str());
    return done.error();
  }
  done = before_(SaveStep::kSyncDirectory);
  if (done.ok()) done = sync_directory(directory_);
  if (!done.ok()) return done.error();
  if (before_(SaveStep::kRemoveOld).ok()) remove_files_but(manifest_.tables);
  return manifest_;
}

base::Result<Manifest> save_replica(const std::string& directory, const Replica& replica,
                                    const std::vector<std::string>& ddl) {
  const BeforeSaveStep go = [](SaveStep) { return base::Result<void>(); };
  return ReplicaSaver(directory, replica, go).save(ddl);
}

}  // namespace diptych::storage
