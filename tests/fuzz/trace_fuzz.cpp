// SPDX-License-Identifier: Apache-2.0
//
// Any bytes are refused with an error of the user, or are calls with times and texts within bounds.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "harness/base/error.hpp"
#include "harness/importers/traces/trace_file.hpp"
#include "tests/fuzz/require.hpp"

using plumb::test::require;

namespace {

template <typename Read>
void check(const std::string& text, Read&& read) {
  using namespace plumb;
  try {
    std::istringstream in(text);
    const results::ExecutedTrace trace = read(in);
    for (std::size_t i = 0; i < trace.calls.size(); ++i) {
      require(trace.calls[i].description < trace.descriptions.size());
      const results::ExecutedTrace::Call call = trace.call(i);
      require(call.duration >= Seconds(0.0) && call.duration < Seconds(1e13));
      require(call.operation.size() <= importers::kMaxTraceText);
      require(call.inputs.size() <= 64 && call.types.size() <= 64);
      require(!call.execution || *call.execution < trace.executions.size());
    }
  } catch (const Error& error) {
    require(error.kind() == Error::Kind::kUser);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check(text, plumb::importers::read_onednn_log);
  check(text, plumb::importers::read_event_trace);
  check(text, plumb::importers::read_cuda_library_log);
  return 0;
}
