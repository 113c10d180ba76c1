// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/candidate.hpp"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <optional>
#include <string>

#include "harness/base/error.hpp"
#include "runners/engine/exec/memory_limit.hpp"

namespace plumb::engine {
namespace {

/// Returns how a row tells that an allocation failed.
std::string failed_allocation() {
  const std::string reason = "the worker could not allocate memory";
  const std::optional<Bytes> limit = memory_limit();
  return limit ? fmt::format("{}: it may take {} bytes", reason, limit->value) : reason;
}

}  // namespace

void guarded(results::Outcome& outcome, const std::function<void()>& step) {
  try {
    step();
  } catch (const std::bad_alloc&) {
    outcome = {results::Outcome::Kind::kOutOfMemory, failed_allocation()};
  } catch (const Error& error) {
    if (error.kind() == Error::Kind::kInternal) {
      throw;
    }
    outcome = {results::Outcome::Kind::kUnsupported, error.what()};
  } catch (const std::exception& error) {
    outcome = {results::Outcome::Kind::kCrashed,
               fmt::format("the backend threw: {}", error.what())};
  }
}

void add_needed_memory(results::Outcome& outcome, Bytes needed) {
  if (outcome.kind == results::Outcome::Kind::kOutOfMemory && needed.value > 0) {
    outcome.reason +=
        fmt::format("; executing it takes {} bytes, and verifying it more", needed.value);
  }
}

}  // namespace plumb::engine
