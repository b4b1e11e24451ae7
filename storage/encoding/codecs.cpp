#include "storage/encoding/codec.h"

namespace diptych::storage::encoding {

const NumberCodec* number_codec(Encoding encoding) {
  switch (encoding) {
    case Encoding::kConstant: return &kConstantNumbers;
    case Encoding::kFrame: return &kFrames;
    case Encoding::kPackedFrame: return &kPackedFrames;
    case Encoding::kPlain: return &kPlainNumbers;
    case Encoding::kDictionary: return &kNumberDictionary;
    case Encoding::kPackedText:
    case Encoding::kSymbolText: return nullptr;
    case Encoding::kZstd: return &kZstdNumbers;
  }
  return nullptr;
}

const TextCodec* text_codec(Encoding encoding) {
  switch (encoding) {
    case Encoding::kConstant: return &kConstantTexts;
    case Encoding::kFrame:
    case Encoding::kPackedFrame: return nullptr;
    case Encoding::kPlain: return &kPlainTexts;
    case Encoding::kDictionary: return &kTextDictionary;
    case Encoding::kPackedText: return &kPackedTexts;
    case Encoding::kSymbolText: return &kSymbolTexts;
    case Encoding::kZstd: return &kZstdTexts;
  }
  return nullptr;
}

const Codec* codec_of(Encoding encoding, ValueKind kind) {
  if (kind == ValueKind::kText) return text_codec(encoding);
  return number_codec(encoding);
}

}  // namespace diptych::storage::encoding
