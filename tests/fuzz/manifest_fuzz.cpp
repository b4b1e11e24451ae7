// A manifest that is accepted is written and read again as the same. Input: the text of a
// manifest. It is read as it is, and again under a checksum that is right, so that damage gets
// past it.

#include <string>

#include "base/check.h"
#include "storage/manifest.h"
#include "tests/fuzz/signing.h"

namespace diptych::storage {
namespace {

void check_manifest(const std::string& text) {
  const auto read = manifest_from_text("manifest.json", text);
  if (!read.ok()) {
    DIPTYCH_CHECK(
        read.code() == base::ErrorCode::kCorrupt || read.code() == base::ErrorCode::kUnsupported,
        "damage is kCorrupt, another format kUnsupported");
    DIPTYCH_CHECK(read.error().message.starts_with("manifest.json: "), "errors name the file");
    return;
  }
  const auto written = manifest_to_text(*read);
  DIPTYCH_CHECK(written.ok(), "what was read can be written");
  const auto again = manifest_from_text("manifest.json", *written);
  DIPTYCH_CHECK(again.ok(), "what was written is read");
  DIPTYCH_CHECK(*manifest_to_text(*again) == *written, "and is the same");
}

}  // namespace
}  // namespace diptych::storage

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  diptych::storage::check_manifest(text);
  const std::string signed_text = diptych::fuzz::with_right_checksum(text);
  if (!signed_text.empty()) diptych::storage::check_manifest(signed_text);
  return 0;
}
