// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/samples/profile_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/profile/profile_summary.hpp"
#include "reporting/content/samples/profile_frames.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
namespace {

/// Returns a name as part of a folded stack, whose parts end at semicolons and its lines at ends of
/// lines.
std::string folded_name(const std::string& name) {
  std::string text = sanitize_utf8(name);
  std::replace(text.begin(), text.end(), ';', ',');
  return text;
}

/// Returns a name as a field of `perf script`, which ends at a space or a parenthesis.
std::string script_name(const std::string& name) {
  std::string text = sanitize_utf8(name);
  std::replace_if(
      text.begin(),
      text.end(),
      [](char letter) { return letter == ' ' || letter == '(' || letter == ')'; },
      '_');
  return text;
}

/// Lists the frames of each thread by itself.
std::map<std::uint32_t, std::vector<ProfileFrame>> list_thread_frames(
    const results::NamedProfile& profile) {
  std::map<std::uint32_t, std::vector<results::ProfiledStack>> stacks;
  for (results::ProfiledStack& stack : list_stacks(profile)) {
    stacks[stack.thread].push_back(std::move(stack));
  }
  std::map<std::uint32_t, std::vector<ProfileFrame>> threads;
  results::NamedProfile part = profile;
  for (auto& [thread, of_thread] : stacks) {
    part.stacks = std::move(of_thread);
    threads[thread] = list_frames(part);
  }
  if (threads.empty()) {
    threads[0] = list_frames(profile);
  }
  return threads;
}

}  // namespace

void write_folded_stacks(const results::NamedProfile& profile, std::ostream& out) {
  for (const results::ProfiledStack& stack : list_stacks(profile)) {
    out << folded_name(profile.model) << ';'
        << folded_name(analysis::step_name(profile, stack.step));
    for (const std::uint32_t function : stack.functions) {
      out << ';' << folded_name(analysis::name_of(profile.functions.at(function)));
    }
    out << ' ' << stack.samples << '\n';
  }
}

void write_perf_script(const results::NamedProfile& profile, std::ostream& out) {
  constexpr double kMicroseconds = 1e6;
  const double period = profile.asked_rate > 0.0 ? 1.0 / profile.asked_rate : 0.0;
  std::uint64_t number = 0;
  for (const results::ProfiledStack& stack : list_stacks(profile)) {
    std::string frames;
    for (auto function = stack.functions.rbegin(); function != stack.functions.rend(); ++function) {
      const results::ProfiledFunction& called = profile.functions.at(*function);
      frames += fmt::format("\t{:16x} {} ({})\n",
                            0,
                            script_name(analysis::name_of(called)),
                            script_name(called.image));
    }
    frames += fmt::format(
        "\t{:16x} {} (step)\n\n", 0, script_name(analysis::step_name(profile, stack.step)));
    for (std::uint64_t i = 0; i < stack.samples; ++i) {
      const auto time =
          static_cast<std::uint64_t>(static_cast<double>(number++) * period * kMicroseconds);
      out << fmt::format("plumb     1/{:<5} [000] {}.{:06}: {:10.0f} {}:u:\n",
                         stack.thread + 1,
                         time / 1'000'000,
                         time % 1'000'000,
                         period * 1e9,
                         results::to_text(profile.clock))
          << frames;
    }
  }
}

void write_event_trace(const results::NamedProfile& profile, std::ostream& out) {
  const std::map<std::uint32_t, std::vector<ProfileFrame>> threads = list_thread_frames(profile);
  std::uint64_t most = 0;  // of a thread, which is taken to be busy all the time
  for (const auto& [thread, frames] : threads) {
    most = std::max(most, frames.front().samples);
  }
  const double scale = most > 0 ? analysis::summarize_profile(profile).execution.count() * 1e6 /
                                      static_cast<double>(most)
                                : 0.0;
  nlohmann::json events = nlohmann::json::array();
  events.push_back({{"name", "process_name"},
                    {"ph", "M"},
                    {"pid", 1},
                    {"args", {{"name", "mean execution, from samples"}}}});
  for (const auto& [thread, frames] : threads) {
    for (const ProfileFrame& frame : frames) {
      events.push_back(
          {{"name", sanitize_utf8(frame.name)},
           {"ph", "X"},
           {"pid", 1},
           {"tid", thread + 1},
           {"ts", static_cast<double>(frame.first) * scale},
           {"dur", static_cast<double>(frame.samples) * scale},
           {"args", {{"samples", frame.samples}, {"image", sanitize_utf8(frame.image)}}}});
    }
  }
  out << nlohmann::json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}}.dump()
      << '\n';
}

}  // namespace plumb::reporting
