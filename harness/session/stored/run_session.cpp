// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/run_session.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/json_text.hpp"
#include "harness/base/ulid.hpp"
#include "harness/session/stored/run_record.hpp"

namespace plumb::session {
namespace {

constexpr const char* kStackChange = "stack_change";

}  // namespace

RunSession::~RunSession() {
  if (!running_) {
    return;
  }
  try {
    finish(results::RunState::kInterrupted);
  } catch (const std::exception& error) {
    // The run says "running" without a process that has it: it can be resumed all the same.
    spdlog::warn("run {} could not be marked as interrupted: {}", header_.id, error.what());
  }
}

std::function<void(int)> RunSession::watcher() {
  return [this](int pid) { watch_.look(pid); };
}

void RunSession::begin(results::RunHeader header) {
  header_ = std::move(header);
  if (header_.id.empty()) {
    header_.id = new_ulid();
  }
  header_.started = clock_.begin();
  store_.begin_run(header_);
  running_ = true;
}

bool RunSession::resume(const results::RunHeader& header) {
  const std::string environment = header.environment.id();
  for (const results::RunRecord& run : store_.runs()) {
    const results::RunHeader& old = run.header;
    if (run.state == results::RunState::kFinished || old.suite_hash != header.suite_hash ||
        old.shard != header.shard || old.environment.id() != environment ||
        !store_.derived(old.id, kStackChange).empty() ||
        !store_.derived(old.id, results::kDeviceFault).empty()) {
      continue;
    }
    if (store_.take_run(old.id)) {
      spdlog::info("resuming run {} of {}", old.id, to_text(old.started));
      header_ = header;
      header_.id = old.id;
      header_.started = old.started;
      static_cast<void>(clock_.begin());
      running_ = true;
      return true;
    }
  }
  return false;
}

void RunSession::keep_stack_faults(const std::vector<std::string>& faults) {
  put_run_record(
      store_, header_.id, kStackChange, header_.stack, json_text(nlohmann::json(faults)));
}

void RunSession::keep_device_fault(const std::string& fault) {
  put_run_record(
      store_, header_.id, results::kDeviceFault, header_.stack, json_text(nlohmann::json(fault)));
}

void RunSession::finish(results::RunState state) {
  running_ = false;
  store_.finish_run(header_.id, state, end());
}

/// Returns the moment of the run's end. A resumed run began by another clock: its end is not before
/// its begin.
Timestamp RunSession::end() {
  constexpr double kNotableSeconds = 2.0;
  const double set = clock_.set_by().count();
  if (std::abs(set) > kNotableSeconds) {
    spdlog::warn(
        "the system's clock was set by {:+.0f} s during the run: the rows' times of day shift by "
        "this, durations do not",
        set);
    put_run_record(
        store_, header_.id, "clock_set", header_.stack, nlohmann::json{{"seconds", set}}.dump());
  }
  return std::max(clock_.now(), header_.started);
}

}  // namespace plumb::session
