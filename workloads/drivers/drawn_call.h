// DrawnCall: a TPC-C call with what a terminal enters, ready to be submitted; used again and again,
// so that a call allocates nothing.

#pragma once

#include "dispatcher/database.h"
#include "workloads/tpcc/inputs.h"

namespace diptych::workloads {

struct DrawnCall {
  tpcc::TransactionType type{};
  dispatcher::Request request;
  tpcc::AnyArguments arguments;
  tpcc::AnyReply reply;

  // Makes it the next of the mix. The request's completion and context are the caller's to set.
  void draw(tpcc::InputGenerator* inputs, const tpcc::Procedures& procedures);
};

}  // namespace diptych::workloads
