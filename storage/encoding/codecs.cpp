#include "storage/encoding/codec.h"

namespace diptych::storage::encoding {

const NumberCodec* number_codec(Encoding encoding) {
  switch (encoding) {
    case Encoding::kConstant: return &constant_numbers();
    case Encoding::kFrame: return &frames();
    case Encoding::kPackedFrame: return &packed_frames();
    case Encoding::kPlain: return &plain_numbers();
    case Encoding::kDictionary: return &number_dictionary();
    case Encoding::kPackedText:
    case Encoding::kSymbolText:
    case Encoding::kSymbolDictionary:
    case Encoding::kSpacedDictionary:
    case Encoding::kPatchedText: return nullptr;
    case Encoding::kZstd: return &zstd_numbers();
  }
  return nullptr;
}

const TextCodec* text_codec(Encoding encoding) {
  switch (encoding) {
    case Encoding::kConstant: return &constant_texts();
    case Encoding::kFrame:
    case Encoding::kPackedFrame: return nullptr;
    case Encoding::kPlain: return &plain_texts();
    case Encoding::kDictionary: return &text_dictionary();
    case Encoding::kPackedText: return &packed_texts();
    case Encoding::kSymbolText: return &symbol_texts();
    case Encoding::kSymbolDictionary: return &symbol_dictionary();
    case Encoding::kZstd: return &zstd_texts();
    case Encoding::kSpacedDictionary: return &spaced_dictionary();
    case Encoding::kPatchedText: return &patched_texts();
  }
  return nullptr;
}

const Codec* codec_of(Encoding encoding, ValueKind kind) {
  if (kind == ValueKind::kText) return text_codec(encoding);
  return number_codec(encoding);
}

}  // namespace diptych::storage::encoding
