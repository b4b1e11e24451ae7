#include "dispatcher/logged_transactions.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/counted.h"
#include "dispatcher/command_log/command_log.h"

namespace diptych::dispatcher {

LoggedTransactions::LoggedTransactions(std::string directory, base::Vid after, LogContents contents)
    : directory_(std::move(directory)), after_(after), contents_(std::move(contents)) {}

std::vector<std::string> LoggedTransactions::missing(const ProcedureDirectory& procedures,
                                                     const ModuleRegistry& modules) const {
  std::vector<std::string> names;
  for (const ProcedureInLog& logged : contents_.procedures) {
    const ProcedureSignature* const present = procedures.find(logged.name);
    if (present == nullptr || modules.is_removed(present->id)) names.push_back(logged.name);
  }
  return names;
}

base::Result<void> LoggedTransactions::check(const ProcedureDirectory& procedures,
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

base::Result<void> LoggedTransactions::replay(const ProcedureDirectory& procedures, const Run& run,
                                              const Apply& apply) {
  return read_calls(contents_, after_, [&](LoggedBatch& batch) {
    auto replayed =
        batch.updates.empty() ? replay_batch(procedures, batch, run) : apply(batch.updates);
    if (replayed) return replayed;
    return base::Result<void>(replayed.error().within(
        fmt::format("{}, the batch after VID {}", batch.path, batch.start.value)));
  });
}

const LoggedTransactions::ReplayedProcedure& LoggedTransactions::replayed_procedure(
    const ProcedureDirectory& procedures, const ProcedureInLog& logged) {
  const auto known = replayed_procedures_.find(logged.name);
  if (known != replayed_procedures_.end()) return known->second;
  const ProcedureSignature* const present = procedures.find(logged.name);
  DIPTYCH_CHECK(present != nullptr, "check() has found it");
  return replayed_procedures_
      .emplace(logged.name, ReplayedProcedure{present->id, present->argument_texts})
      .first->second;
}

void LoggedTransactions::fill_texts(const ReplayedProcedure& procedure, const LoggedCall& call,
                                    std::vector<std::byte>* arguments) {
  arguments->assign(call.arguments.begin(), call.arguments.end());
  for (size_t i = 0; i < procedure.texts.size(); ++i) {
    const base::Text text = call.texts[i] ? base::Text(*call.texts[i]) : base::Text();
    std::memcpy(arguments->data() + procedure.texts[i].offset, &text, sizeof text);
  }
}

base::Result<void> LoggedTransactions::replay_batch(const ProcedureDirectory& procedures,
                                                    LoggedBatch& batch, const Run& run) {
  const size_t count = batch.calls.size();
  requests_.resize(std::max(requests_.size(), count));
  arguments_.resize(requests_.size());
  request_places_.clear();
  inserted_.clear();
  for (size_t i = 0; i < count; ++i) {
    const LoggedCall& call = batch.calls[i];
    const ReplayedProcedure& found =
        replayed_procedure(procedures, batch.procedures->at(call.procedure));
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
