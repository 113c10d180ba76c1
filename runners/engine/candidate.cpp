// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/candidate.hpp"

#include <fmt/format.h>

#include <exception>
#include <new>

#include "harness/base/error.hpp"

namespace plumb {

void guarded(Measurement& row, const std::function<void()>& step) {
  try {
    step();
  } catch (const std::bad_alloc&) {
    row.outcome = {Outcome::Kind::kOutOfMemory, "the worker could not allocate memory"};
  } catch (const Error& error) {
    if (error.kind() == Error::Kind::kInternal) {
      throw;
    }
    row.outcome = {Outcome::Kind::kUnsupported, error.what()};
  } catch (const std::exception& error) {
    row.outcome = {Outcome::Kind::kCrashed, fmt::format("the backend threw: {}", error.what())};
  }
}

}  // namespace plumb
