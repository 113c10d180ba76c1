// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/run_session.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/analysis/compare/comparison_result.hpp"
#include "harness/base/digest.hpp"
#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/base/ulid.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/stacks/stack_probe.hpp"

namespace plumb::session {
namespace {

constexpr const char* kStackChange = "stack_change";

/// Throws Error{kRefused} unless rows of both headers may be of one run. Equal GPUs may share one.
/// Its bounds then need controls that agree.
void require_equal(const results::RunHeader& run, const results::RunHeader& own) {
  std::string unlike;
  for (const analysis::EnvironmentDifference& difference :
       analysis::environment_diff(run.environment, own.environment)) {
    if (difference.identity && !analysis::names_device(difference.name)) {
      unlike += fmt::format("{} {}: '{}' there and '{}' here",
                            unlike.empty() ? "" : ";",
                            difference.name,
                            difference.baseline,
                            difference.candidate);
    }
  }
  if (!measure_the_same(run, own)) {
    unlike += fmt::format("{} suite: '{}' ({:.12}) there and '{}' ({:.12}) here",
                          unlike.empty() ? "" : ";",
                          run.suite,
                          run.suite_hash,
                          own.suite,
                          own.suite_hash);
  }
  if (!unlike.empty()) {
    throw Error(Error::Kind::kRefused,
                fmt::format("this process cannot join run {}, which is unlike what it measures:{}; "
                            "choose another name with --join, one for each environment",
                            run.id,
                            unlike));
  }
}

}  // namespace

namespace fs = std::filesystem;

void RunSession::StackWatch::look(int pid) {
  for (const stacks::MappedLibrary& library : stacks::mapped_libraries(pid, stack_)) {
    if (!library.of_stack) {
      continue;
    }
    std::error_code gone;
    if (library.deleted || !fs::is_regular_file(library.path, gone)) {
      faults_.push_back(
          fmt::format("'{}' was removed or replaced while it was in use", library.path.string()));
      continue;
    }
    const auto [known, fresh] = by_library_.emplace(library.name, library.path);
    if (!fresh && known->second != library.path) {
      faults_.push_back(fmt::format("a mixture: workers mapped '{}' and '{}'",
                                    known->second.string(),
                                    library.path.string()));
    }
    if (digests_.count(library.path) == 0) {
      digests_[library.path] = sha256_of_file(library.path);
    }
  }
}

std::vector<std::string> RunSession::StackWatch::faults() const {
  std::vector<std::string> result = faults_;
  for (const auto& [path, digest] : digests_) {
    std::error_code gone;
    if (!fs::is_regular_file(path, gone)) {
      result.push_back(fmt::format("'{}' was removed while the run used it", path.string()));
    } else if (const std::string now = sha256_of_file(path); now != digest) {
      result.push_back(fmt::format(
          "'{}' changed while the run used it: SHA-256 {} and now {}", path.string(), digest, now));
    }
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

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
    if (run.state == results::RunState::kFinished || old.suite != header.suite ||
        old.shard != header.shard || old.environment.id() != environment || is_spoilt(old.id) ||
        !measure_the_same(store_.find_run(old.id).header, header)) {
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

std::optional<std::int64_t> RunSession::join(const std::string& name,
                                             const std::string& first_item,
                                             const std::string& host,
                                             std::chrono::milliseconds lease,
                                             results::RunHeader header) {
  header_ = std::move(header);
  header_.id = new_ulid();
  header_.started = clock_.begin();
  store::SharedWork& work = store_.shared_work();
  const results::RunId run = work.begin_or_find(name, header_, first_item);
  if (run != header_.id) {
    const results::RunRecord record = store_.find_run(run);
    require_equal(record.header, header_);
    if (is_spoilt(run)) {
      throw Error(Error::Kind::kEnvironment,
                  fmt::format("run {} cannot be joined: its stack changed or a device erred while "
                              "it was measured; begin another one under a new name",
                              run));
    }
    header_.started = record.header.started;
    header_.id = run;
  }
  const std::optional<std::int64_t> member = work.join(run, host, lease);
  running_ = member.has_value();
  return member;
}

bool RunSession::is_spoilt(const results::RunId& run) const {
  return !store_.derived(run, kStackChange).empty() ||
         !store_.derived(run, results::kDeviceFault).empty();
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
