#include "oltp/reply_texts.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <pthread.h>

#include "base/thread.h"

namespace diptych::oltp {
namespace {

// Calls with_text(text, cell) for each that is not NULL.
template <class WithText>
void for_each_reply_text(const ProcedureDefinition& procedure, std::span<std::byte> reply,
                         const WithText& with_text) {
  for (const TextCell& cell : procedure.reply_texts) {
    if (cell.null_offset && reply[*cell.null_offset] != std::byte{0}) continue;
    base::Text text;
    std::memcpy(&text, reply.data() + cell.offset, sizeof text);
    with_text(text, reply.data() + cell.offset);
  }
}

uintptr_t end_of_this_stack() {  // the low one, towards which it grows
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return UINTPTR_MAX;
  void* end = nullptr;
  size_t bytes = 0;
  pthread_attr_getstack(&attributes, &end, &bytes);
  pthread_attr_destroy(&attributes);
  return reinterpret_cast<uintptr_t>(end);
}

// Asked for the stack's end only where the text is so near that it may be on it.
bool was_a_variable(const base::Text& text, const void* frame) {
  const auto at = reinterpret_cast<uintptr_t>(text.data);
  const auto top = reinterpret_cast<uintptr_t>(frame);
  if (text.size == 0 || at >= top || top - at > base::kThreadStackBytes) return false;
  return at >= end_of_this_stack();
}

base::Error gone(const ProcedureDefinition& procedure, size_t offset) {
  const auto column =
      std::ranges::find(procedure.reply_columns, offset, &base::BoundColumn::offset);
  return {
      base::ErrorCode::kInvalidArgument,
      fmt::format("procedure \"{}\", reply \"{}\": the text lies in a variable that is gone when "
                  "the procedure has returned; Transaction::keep gives one that stays",
                  procedure.name, column->name)};
}

}  // namespace

base::Result<void> keep_reply_texts(const ProcedureDefinition& procedure, Request* request,
                                    const void* frame) {
  base::Result<void> all_there;
  size_t bytes = 0;
  for_each_reply_text(procedure, request->reply, [&](const base::Text& text, std::byte* cell) {
    bytes += text.size;
    if (all_there && was_a_variable(text, frame)) [[unlikely]]
      all_there = gone(procedure, static_cast<size_t>(cell - request->reply.data()));
  });
  if (!all_there) return all_there;
  std::vector<char>& kept = request->reply_texts;
  kept.clear();
  kept.reserve(bytes);  // so that it stays where it is
  for_each_reply_text(procedure, request->reply, [&](base::Text text, std::byte* cell) {
    const std::string_view bytes_of_it = text.view();
    text.data = kept.data() + kept.size();
    kept.insert(kept.end(), bytes_of_it.begin(), bytes_of_it.end());
    std::memcpy(cell, &text, sizeof text);
  });
  return {};
}

}  // namespace diptych::oltp
