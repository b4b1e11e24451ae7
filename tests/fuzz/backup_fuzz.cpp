// The mark of a backup that is accepted names versions in their order, the same twice. Input: its
// text. It is read as it is, and again under a checksum that is right, so that damage gets past it.

#include <cstdint>
#include <string>

#include "base/check.h"
#include "dispatcher/backup.h"
#include "tests/fuzz/signing.h"
#include "tests/temporary_directory.h"

namespace diptych::dispatcher {
namespace {

void check_mark(const std::string& text) {
  static const diptych::test::TemporaryDirectory made;
  const std::string& directory = made.path();
  const std::string path = directory + "/backup.json";
  diptych::test::write_bytes(path, text);
  const auto read = read_backup(directory);
  if (!read) {
    DIPTYCH_CHECK(
        read.code() == base::ErrorCode::kCorrupt || read.code() == base::ErrorCode::kUnsupported,
        "damage is kCorrupt, another format kUnsupported");
    DIPTYCH_CHECK(read.error().message.starts_with(path + ": "), "errors name the file");
    return;
  }
  DIPTYCH_CHECK(read->has_value(), "where there is a mark, there is a backup");
  DIPTYCH_CHECK((*read)->first <= (*read)->last, "a backup has the versions from one to another");
  const auto again = read_backup(directory);
  DIPTYCH_CHECK(again.ok() && (*again)->first == (*read)->first && (*again)->last == (*read)->last,
                "what was read is read again");
  DIPTYCH_CHECK(!check_is_no_backup(directory), "no database is opened in a backup");
}

}  // namespace
}  // namespace diptych::dispatcher

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  diptych::dispatcher::check_mark(text);
  const std::string signed_text = diptych::fuzz::with_right_checksum(text);
  if (!signed_text.empty()) diptych::dispatcher::check_mark(signed_text);
  return 0;
}
