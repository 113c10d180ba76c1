// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/candidate.hpp"

#include <fmt/format.h>

#include <exception>
#include <new>

#include "harness/base/error.hpp"

namespace plumb::engine {

void guarded(results::Outcome& outcome, const std::function<void()>& step) {
  try {
    step();
  } catch (const std::bad_alloc&) {
    outcome = {results::Outcome::Kind::kOutOfMemory, "the worker could not allocate memory"};
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

}  // namespace plumb::engine
