#include "dispatcher/recovery.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/counted.h"
#include "dispatcher/command_log/command_log.h"

namespace diptych::dispatcher {

Recovery::Recovery(std::string directory, base::Vid after, LogContents contents)
    : directory_(std::move(directory)), after_(after), contents_(std::move(contents)) {}

std::vector<std::string> Recovery::missing(const ProcedureDirectory& procedures,
                                           const ModuleRegistry& modules) const {
  std::vector<std::string> names;
  for (const ProcedureInLog& logged : contents_.procedures) {
    const ProcedureSignature* const present = procedures.find(logged.name);
    if (present == nullptr || modules.is_removed(present->id)) names.push_back(logged.name);
  }
  return names;
}

base::Result<void> Recovery::check(const ProcedureDirectory& procedures,
                                   const ModuleRegistry& modules) const {
  const std::string unclosed =
      fmt::format("{} was not closed, and its log has {} to run again", directory_,
                  base::counted(contents_.transactions, "transaction"));
  if (const auto absent = missing(procedures, modules); !absent.empty()) {
    return base::Error(
        base::ErrorCode::kNotFound,
        fmt::format("{}, some by procedure \"{}\", which is not there: register it, or load its "
                    "library, before the database is used (diptych checkpoint PATH --procedures "
                    "LIB.so does it)",
                    unclosed, absent.front()));
  }
  for (const ProcedureInLog& logged : contents_.procedures) {
    const ProcedureSignature* const present = procedures.find(logged.name);
    const uint64_t version = procedures.version(present->id);
    if (argument_signature(*present) == logged.signature && version != logged.version) {
      return base::Error(
          base::ErrorCode::kInvalidArgument,
          fmt::format("{}, some by version {} of procedure \"{}\", which is version {} now: open "
                      "it once with the program or library that it was used with, and close it",
                      unclosed, logged.version, logged.name, version));
    }
    if (argument_signature(*present) == logged.signature) continue;
    return base::Error(
        base::ErrorCode::kInvalidArgument,
        fmt::format("{}, some by procedure \"{}\", which takes other arguments now: open it once "
                    "with the program or library that it was used with, and close it",
                    unclosed, logged.name));
  }
  return {};
}

base::Result<void> Recovery::replay(const ProcedureDirectory& procedures, const Run& run,
                                    const Apply& apply) {
  return read_calls(contents_, after_, [&](LoggedBatch& batch) {
    auto replayed =
        batch.updates.empty() ? replay_batch(procedures, batch, run) : apply(batch.updates);
    if (replayed) return replayed;
    return base::Result<void>(replayed.error().within(
        fmt::format("{}, the batch after VID {}", batch.path, batch.start.value)));
  });
}

const Recovery::Target& Recovery::target(const ProcedureDirectory& procedures,
                                         const ProcedureInLog& logged) {
  const auto known = targets_.find(logged.name);
  if (known != targets_.end()) return known->second;
  const ProcedureSignature* const present = procedures.find(logged.name);
  DIPTYCH_CHECK(present != nullptr, "check() has found it");
  return targets_.emplace(logged.name, Target{present->id, text_cells(*present)}).first->second;
}

void Recovery::fill_texts(const Target& target, const LoggedCall& call,
                          std::vector<std::byte>* arguments) {
  arguments->assign(call.arguments.begin(), call.arguments.end());
  for (size_t i = 0; i < target.texts.size(); ++i) {
    const base::Text text = call.texts[i] ? base::Text(*call.texts[i]) : base::Text();
    std::memcpy(arguments->data() + target.texts[i].offset, &text, sizeof text);
  }
}

base::Result<void> Recovery::replay_batch(const ProcedureDirectory& procedures, LoggedBatch& batch,
                                          const Run& run) {
  const size_t count = batch.calls.size();
  requests_.resize(std::max(requests_.size(), count));
  arguments_.resize(requests_.size());
  request_places_.clear();
  inserted_.clear();
  for (size_t i = 0; i < count; ++i) {
    const LoggedCall& call = batch.calls[i];
    const Target& found = target(procedures, batch.procedures->at(call.procedure));
    oltp::Request& request = requests_[i];
    request.procedure = found.id;
    request.arguments = call.arguments;
    if (!found.texts.empty()) {
      fill_texts(found, call, &arguments_[i]);
      request.arguments = arguments_[i];
    }
    request.now = call.now;
    request.random_seed = call.random_seed;
    request.read_vid = call.read_vid;
    request.commit_vid = call.commit_vid;
    request_places_.push_back(&request);
    inserted_.emplace_back(call.inserted);
  }
  return run(request_places_, inserted_);
}

}  // namespace diptych::dispatcher
