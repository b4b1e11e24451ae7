#include "tests/crash/power_cut_disk.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/alignment.h"

namespace diptych::crash {

// Which relies on sectors that are written as a whole.
static bool is_the_logs(const std::string& name) {
  return name.ends_with(".dtl") || name == "log.begun";
}

PowerCutDisk& PowerCutDisk::instance() {
  static PowerCutDisk disk;
  return disk;
}

PowerCutDisk::Contents PowerCutDisk::all_durable(const std::string& directory) {
  Contents contents;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    File file;
    file.durable_size = bytes.size();
    for (uint64_t at = 0; at < bytes.size(); at += kSectorBytes) {
      Sector sector = {};
      std::memcpy(sector.data(), bytes.data() + at, std::min(kSectorBytes, bytes.size() - at));
      if (sector != Sector{}) file.durable.emplace(at / kSectorBytes, sector);
    }
    file.newest = file.durable;
    file.newest_size = file.durable_size;
    contents.names[entry.path().filename().string()] = contents.files.size();
    contents.files.push_back(std::move(file));
  }
  contents.durable_names = contents.names;
  return contents;
}

void PowerCutDisk::watch(const std::string& directory, MissingSync missing) {
  Contents found = killed_ ? std::move(*killed_) : all_durable(directory);
  killed_.reset();
  const std::lock_guard lock(mutex_);
  directory_ = directory;
  missing_ = missing;
  now_ = std::move(found);
  open_.clear();
}

void PowerCutDisk::unwatch() {
  const std::lock_guard lock(mutex_);
  directory_.clear();
  open_.clear();
}

std::string PowerCutDisk::name_in(const std::string& path) const {
  if (directory_.empty() || !path.starts_with(directory_ + "/")) return {};
  return path.substr(directory_.size() + 1);
}

void PowerCutDisk::refuse(Refusal what, uint64_t calls) {
  const std::lock_guard lock(mutex_);
  refusal_ = what;
  refusals_left_ = calls;
}

bool PowerCutDisk::takes_refusal(Refusal what) {
  if (refusal_ != what || refusals_left_ == 0) return false;
  --refusals_left_;
  const bool is_error = what != Refusal::kWholeWrites && what != Refusal::kRings;
  // relaxed: as in refused().
  if (is_error) refused_.fetch_add(1, std::memory_order_relaxed);
  errno = what == Refusal::kSpace || what == Refusal::kNameSpace ? ENOSPC : EIO;
  return true;
}

bool PowerCutDisk::grants(Refusal what, int file) {
  return !open_.contains(file) || !takes_refusal(what);
}

bool PowerCutDisk::grants_new_file(const std::string& path) {
  if (name_in(path).empty()) return true;
  return !takes_refusal(Refusal::kSpace) && grants_name_change(path);
}

bool PowerCutDisk::grants_name_change(const std::string& path) {
  if (name_in(path).empty()) return true;
  if (!takes_refusal(Refusal::kNames) && !takes_refusal(Refusal::kNameSpace)) return true;
  // relaxed: as in refused().
  names_refused_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool PowerCutDisk::grants_rename(const std::string& from) {
  if (!name_in(from).empty() && takes_refusal(Refusal::kRenames)) {
    // relaxed: as in refused().
    names_refused_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  return grants_name_change(from);
}

bool PowerCutDisk::grants_submission() {
  const std::lock_guard lock(mutex_);
  return !takes_refusal(Refusal::kRings);
}

size_t PowerCutDisk::writable(int file, size_t bytes) {
  const auto found = open_.find(file);
  if (found == open_.end() || bytes == 0) return bytes;
  // Of the log, which relies on it, a write is cut between two sectors.
  const size_t unit = is_the_logs(found->second.name) ? kSectorBytes : 1;
  const auto part = [&](size_t most) {
    return std::min(base::round_up(1 + choices_() % most, unit), bytes);
  };
  if (takes_refusal(Refusal::kWholeWrites)) return part(bytes);
  // The part is one call; the rest is another, which has the error.
  const bool some = bytes > unit && choices_() % 2 == 0;
  for (const Refusal what : {Refusal::kWrites, Refusal::kSpace}) {
    if (refusal_ == what && refusals_left_ != 0 && some) return part(bytes - unit);
    if (takes_refusal(what)) return 0;
  }
  return bytes;
}

void PowerCutDisk::drop_sectors(File* file, uint64_t until) {
  const uint64_t count = until - std::min(until, file->changes_before);
  for (uint64_t i = 0; i < count; ++i) {
    Change& change = file->changes[i];
    if (!change.resizes && choices_() % 2 == 0) change.dropped = true;
  }
}

PowerCutDisk::File* PowerCutDisk::find(int file) {
  const auto found = open_.find(file);
  if (found == open_.end() || found->second.is_directory) return nullptr;
  return &now_.files[found->second.file];
}

void PowerCutDisk::note_open(int file, const std::string& path, bool created, bool truncated) {
  if (!directory_.empty() && path == directory_) {
    open_[file] = {.is_directory = true};
    return;
  }
  const std::string name = name_in(path);
  if (name.empty()) return;
  if (created) {
    now_.names[name] = now_.files.size();
    now_.name_changes.push_back({.removed = {}, .made = name, .file = now_.files.size()});
    now_.files.emplace_back();
  }
  const auto known = now_.names.find(name);
  if (known == now_.names.end()) return;  // it was there in the system only: a lock file, removed
  open_[file] = {.file = known->second, .name = name};
  if (truncated && !created) resize(&now_.files[known->second], 0);
}

void PowerCutDisk::resize(File* file, uint64_t size) {
  Change change{.resizes = true, .size = size};
  apply(change, &file->newest, &file->newest_size);
  file->changes.push_back(change);
}

void PowerCutDisk::note_write(int descriptor, uint64_t offset, std::span<const std::byte> bytes) {
  File* const file = find(descriptor);
  if (file == nullptr) return;
  while (!bytes.empty()) {
    const uint64_t number = offset / kSectorBytes;
    const size_t within = offset % kSectorBytes;
    const size_t count = std::min(bytes.size(), kSectorBytes - within);
    Change change{.number = number};
    const auto present = file->newest.find(number);
    if (present != file->newest.end()) change.bytes = present->second;
    std::memcpy(change.bytes.data() + within, bytes.data(), count);
    apply(change, &file->newest, &file->newest_size);
    file->changes.push_back(change);
    offset += count;
    bytes = bytes.subspan(count);
  }
  if (offset > file->newest_size) resize(file, offset);
}

void PowerCutDisk::note_append(int descriptor, std::span<const std::byte> bytes) {
  const auto found = open_.find(descriptor);
  if (found == open_.end()) return;
  note_write(descriptor, found->second.position, bytes);
  found->second.position += bytes.size();
}

void PowerCutDisk::note_size(int descriptor, uint64_t size, bool may_shrink) {
  File* const file = find(descriptor);
  if (file != nullptr && (may_shrink || size > file->newest_size)) resize(file, size);
}

PowerCutDisk::Sync PowerCutDisk::begin_sync(int descriptor) {
  const auto found = open_.find(descriptor);
  if (found == open_.end()) return {descriptor, 0};
  if (found->second.is_directory) {
    return {descriptor, now_.name_changes_before + now_.name_changes.size()};
  }
  const File& file = now_.files[found->second.file];
  return {descriptor, file.changes_before + file.changes.size()};
}

bool PowerCutDisk::end_sync(const Sync& sync) {
  const auto found = open_.find(sync.file);
  if (found == open_.end()) return true;
  bool fails = takes_refusal(Refusal::kSyncs) ||
               (found->second.is_directory && takes_refusal(Refusal::kDirectory));
  if (fails && !found->second.is_directory) {
    drop_sectors(&now_.files[found->second.file], sync.changes);
    if (missing_ == MissingSync::kFailed) fails = false;
  }
  if (fails) return false;
  if (found->second.is_directory) {
    if (missing_ == MissingSync::kDirectory) return true;
    while (now_.name_changes_before < sync.changes) {
      apply(now_.name_changes.front(), &now_.durable_names);
      now_.name_changes.pop_front();
      ++now_.name_changes_before;
    }
    return true;
  }
  const std::string& name = found->second.name;
  const MissingSync kind = is_the_logs(name)              ? MissingSync::kLog
                           : name == "blocks.dtb"         ? MissingSync::kBlocks
                           : name.starts_with("manifest") ? MissingSync::kManifest
                                                          : MissingSync::kNone;
  if (kind != MissingSync::kNone && kind == missing_) return true;
  File& file = now_.files[found->second.file];
  while (file.changes_before < sync.changes) {
    apply(file.changes.front(), &file.durable, &file.durable_size);
    file.changes.pop_front();
    ++file.changes_before;
  }
  return true;
}

void PowerCutDisk::note_rename(const std::string& from, const std::string& to) {
  const std::string old_name = name_in(from);
  const std::string new_name = name_in(to);
  if (old_name.empty() || new_name.empty() || !now_.names.contains(old_name)) return;
  const NameChange change{.removed = old_name, .made = new_name, .file = now_.names.at(old_name)};
  apply(change, &now_.names);
  now_.name_changes.push_back(change);
}

void PowerCutDisk::note_unlink(const std::string& path) {
  const std::string name = name_in(path);
  if (!now_.names.contains(name)) return;
  const NameChange change{.removed = name, .made = {}};
  apply(change, &now_.names);
  now_.name_changes.push_back(change);
}

void PowerCutDisk::apply(const Change& change, std::map<uint64_t, Sector>* sectors,
                         uint64_t* size) {
  if (!change.resizes) {
    if (!change.dropped) (*sectors)[change.number] = change.bytes;
    return;
  }
  if (change.size < *size) {
    const uint64_t whole = (change.size + kSectorBytes - 1) / kSectorBytes;
    sectors->erase(sectors->lower_bound(whole), sectors->end());
  }
  *size = change.size;
}

void PowerCutDisk::apply(const NameChange& change, std::map<std::string, uint64_t>* names) {
  if (!change.removed.empty()) names->erase(change.removed);
  if (!change.made.empty()) (*names)[change.made] = change.file;
}

void PowerCutDisk::write_sectors(const std::map<uint64_t, Sector>& sectors, uint64_t size,
                                 const std::string& path) {
  std::ofstream out(path, std::ios::binary);
  for (const auto& [number, bytes] : sectors) {
    if (number * kSectorBytes >= size) break;
    out.seekp(static_cast<std::streamoff>(number * kSectorBytes));
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(std::min(kSectorBytes, size - number * kSectorBytes)));
  }
  out.close();
  std::filesystem::resize_file(path, size);
}

void PowerCutDisk::write_image(const File& file, const std::string& path, double share,
                               std::mt19937_64* random) {
  std::bernoulli_distribution reaches(share);
  std::map<uint64_t, Sector> sectors = file.durable;
  uint64_t size = file.durable_size;
  const auto resizes = std::count_if(file.changes.begin(), file.changes.end(),
                                     [](const Change& change) { return change.resizes; });
  uint64_t resizes_left = (*random)() % (static_cast<uint64_t>(resizes) + 1);
  for (const Change& change : file.changes) {
    ++undecided_;
    if (change.resizes ? resizes_left == 0 : !reaches(*random)) continue;
    if (change.resizes) --resizes_left;
    apply(change, &sectors, &size);
  }
  write_sectors(sectors, size, path);
}

void PowerCutDisk::cut(const std::string& to, std::mt19937_64* random) {
  const std::lock_guard lock(mutex_);
  refusal_ = Refusal::kNone;
  std::filesystem::create_directory(to);
  undecided_ = now_.name_changes.size();
  constexpr double kShares[] = {0, 0.1, 0.5, 0.9, 1};
  const double share = kShares[(*random)() % std::size(kShares)];
  std::bernoulli_distribution reaches(share);
  std::map<std::string, uint64_t> names = now_.durable_names;
  for (const NameChange& change : now_.name_changes) {
    if (reaches(*random)) apply(change, &names);
  }
  for (const auto& [name, file] : names) {
    write_image(now_.files[file], to + "/" + name, share, random);
  }
}

void PowerCutDisk::kill(const std::string& to) {
  const std::lock_guard lock(mutex_);
  refusal_ = Refusal::kNone;
  std::filesystem::create_directory(to);
  undecided_ = 0;
  for (const auto& [name, file] : now_.names) {
    write_sectors(now_.files[file].newest, now_.files[file].newest_size, to + "/" + name);
  }
  killed_ = now_;
}

}  // namespace diptych::crash
