// PowerCutDisk: what of a directory a disk would still have if the power went now.
//
// The program that links this has its own open, read, pread, pwrite, pwritev, write, ftruncate,
// fallocate, posix_fallocate, fsync, fdatasync, rename, unlink and close, which do what the
// system's do and note it, for files in the watched directory (power_cut_calls.cpp); so have the
// operations of rings (power_cut_rings.h). What was written since a file's last sync is kept apart,
// sector by sector; so are names that were made, moved and removed since the directory's.
//
//   durable ◄── sync ── since then ──► cut(): durable, and any of these, each for itself
//
// A sync takes a random time here, no disk, and a cut may fall into it.
//
// A process may be killed between two cuts: then the next one finds all that was written, and what
// was not durable is not for that.
//
// A cut lets through any of the unsynced sectors (of 512 bytes, each whole: of several writes to
// one, any), any of the unsynced changes of names, and changes of a file's size up to any one, as a
// journal orders them. A process goes on after a cut: what there would be is made elsewhere.
//
// From refuse() on, so many calls do not get what they ask for. Of a write a part comes through
// first: of one to the log whole sectors, since systems cut a write between two pages. Of what a
// file's sync was to make durable, any of the sectors never will be, though they are read and later
// syncs succeed, as where a system counts as clean what it could not write.
//
// Names may be refused too: files are neither made, renamed nor removed, or the directory's sync
// fails, after which the changes of names are as undecided as before.
//
// Broken variants: syncs that are asked for and not noted, as if they were missing in the source;
// and syncs or renames that fail and say nothing, as if who calls did not look.
//
// Threads    any; one disk a process.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace diptych::crash {

enum class MissingSync : uint8_t { kNone, kLog, kBlocks, kManifest, kDirectory, kFailed, kRenames };

enum class Refusal : uint8_t {
  kNone,
  kWholeWrites,  // a part of each is written; no error
  kWrites,       // EIO
  kSpace,        // ENOSPC: of writes too, which a file system that copies what is written may give
  kSyncs,        // EIO
  kReads,        // EIO
  kNames,        // EIO: names that are made, moved or removed
  kNameSpace,    // ENOSPC: the same
  kRenames,      // EIO
  kDirectory,    // EIO: its syncs
  kRings,        // what is submitted to them, which is done otherwise; no error
};

class PowerCutDisk {
 public:
  static constexpr size_t kSectorBytes = 512;

  static PowerCutDisk& instance();

  // All that is in the directory is durable, unless kill() made it, and what happens from now on is
  // noted.
  void watch(const std::string& directory, MissingSync missing);
  void unwatch();
  void refuse(Refusal what, uint64_t calls);
  // Calls that have failed, ever.
  uint64_t refused() const {
    // relaxed: a count.
    return refused_.load(std::memory_order_relaxed);
  }
  // Of these, those that were to change names.
  uint64_t names_refused() const {
    // relaxed: as above.
    return names_refused_.load(std::memory_order_relaxed);
  }
  // Makes a directory of what would be there; nothing is refused any more.
  void cut(const std::string& to, std::mt19937_64* random);
  // Makes a directory of what is there, as a process finds it that comes after one which was
  // killed; watched next, of it is durable what was, and a later cut may take the rest.
  void kill(const std::string& to);
  // Sectors and names that were not durable at the last cut.
  uint64_t undecided() const { return undecided_; }

  // For the functions above; mutex() is held over the system's call and the note. A sync makes
  // durable what was there when it began.
  std::recursive_mutex& mutex() { return mutex_; }
  void note_open(int file, const std::string& path, bool created, bool truncated);
  void note_close(int file) { open_.erase(file); }
  void note_write(int file, uint64_t offset, std::span<const std::byte> bytes);
  void note_append(int file, std::span<const std::byte> bytes);
  void note_size(int file, uint64_t size, bool may_shrink);
  struct Sync {
    int file;
    uint64_t changes;  // up to here, counted from the file's, or the names', first one
  };
  Sync begin_sync(int file);
  bool end_sync(const Sync& sync);  // false: it fails
  // Of bytes that are to be written into a file, so many are; 0: none, and errno is set.
  size_t writable(int file, size_t bytes);
  // Whether a call that wants something else gets it; else errno is set.
  bool grants(Refusal what, int file);
  bool grants_new_file(const std::string& path);
  bool grants_name_change(const std::string& path);
  bool grants_rename(const std::string& from);
  bool hides_refused_renames() const { return missing_ == MissingSync::kRenames; }
  bool grants_submission();
  void note_rename(const std::string& from, const std::string& to);
  void note_unlink(const std::string& path);

 private:
  using Sector = std::array<std::byte, kSectorBytes>;
  struct Change {
    bool resizes = false;
    uint64_t size = 0;  // of the file, from now on
    uint64_t number = 0;
    Sector bytes = {};     // of sector `number`
    bool dropped = false;  // by a sync that failed
  };
  struct File {
    std::map<uint64_t, Sector> durable;
    uint64_t durable_size = 0;
    std::map<uint64_t, Sector> newest;
    uint64_t newest_size = 0;
    std::deque<Change> changes;  // since the last sync
    uint64_t changes_before = 0;
  };
  struct NameChange {
    std::string removed;  // may be empty
    std::string made;     // likewise
    uint64_t file = 0;
  };
  struct OpenFile {
    uint64_t file = 0;
    uint64_t position = 0;
    bool is_directory = false;
    std::string name;
  };

  // What the disk has, and what the system does on top of it.
  struct Contents {
    std::vector<File> files;
    std::map<std::string, uint64_t> names;          // as they are
    std::map<std::string, uint64_t> durable_names;  // as of the last sync of the directory
    std::deque<NameChange> name_changes;            // since then
    uint64_t name_changes_before = 0;
  };

  static Contents all_durable(const std::string& directory);
  File* find(int file);
  bool takes_refusal(Refusal what);
  void drop_sectors(File* file, uint64_t until);
  std::string name_in(const std::string& path) const;  // empty: it is not in the directory
  static void apply(const Change& change, std::map<uint64_t, Sector>* sectors, uint64_t* size);
  static void apply(const NameChange& change, std::map<std::string, uint64_t>* names);
  void resize(File* file, uint64_t size);
  static void write_sectors(const std::map<uint64_t, Sector>& sectors, uint64_t size,
                            const std::string& path);
  void write_image(const File& file, const std::string& path, double share,
                   std::mt19937_64* random);

  std::recursive_mutex mutex_;  // what is noted is written by the same functions
  std::string directory_;       // empty: nothing is watched
  MissingSync missing_ = MissingSync::kNone;
  Refusal refusal_ = Refusal::kNone;
  uint64_t refusals_left_ = 0;
  std::atomic<uint64_t> refused_{0};        // writers: under mutex_
  std::atomic<uint64_t> names_refused_{0};  // likewise; of those
  std::minstd_rand choices_;                // of what is refused
  Contents now_;
  std::optional<Contents> killed_;  // by the last kill(), for the next watch()
  std::map<int, OpenFile> open_;
  uint64_t undecided_ = 0;
};

}  // namespace diptych::crash
