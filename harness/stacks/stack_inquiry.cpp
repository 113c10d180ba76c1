// SPDX-License-Identifier: Apache-2.0
#include "harness/stacks/stack_inquiry.hpp"

#include <fmt/format.h>

#include <utility>

#include "harness/base/error.hpp"

namespace plumb::stacks {
namespace {

constexpr int kMaxDeaths = 5;

}  // namespace

StackInquiry::StackInquiry(worker::WorkerOptions options) : options_(std::move(options)) {
  start();
}

results::EngineChoices StackInquiry::ask(const worker::PreviewRequest& request) {
  if (!worker_) {
    start();
  }
  try {
    results::EngineChoices choices = worker_->preview(request);
    deaths_ = 0;
    return choices;
  } catch (const worker::WorkerDied& death) {
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

}  // namespace plumb::stacks
