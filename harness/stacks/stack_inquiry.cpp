// SPDX-License-Identifier: Apache-2.0
#include "harness/stacks/stack_inquiry.hpp"

#include <fmt/format.h>

#include <utility>

#include "harness/base/error.hpp"

namespace plumb {
namespace {

constexpr int kMaxDeaths = 5;

}  // namespace

StackInquiry::StackInquiry(WorkerOptions options) : options_(std::move(options)) {
  start();
}

EngineChoices StackInquiry::ask(const PreviewRequest& request) {
  if (!worker_) {
    start();
  }
  try {
    EngineChoices choices = worker_->preview(request);
    deaths_ = 0;
    return choices;
  } catch (const WorkerDied& death) {
    worker_.reset();
    if (++deaths_ == kMaxDeaths) {
      throw Error(Error::Kind::kEnvironment,
                  fmt::format("the worker of stack '{}' died {} times in a row: {}",
                              options_.stack.name,
                              deaths_,
                              death.outcome().reason));
    }
    return {request.key, death.outcome(), {}};
  }
}

void StackInquiry::start() {
  worker_.emplace(options_);
  environment_ = worker_->describe();
}

}  // namespace plumb
