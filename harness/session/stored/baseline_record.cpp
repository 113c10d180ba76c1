// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/baseline_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/analysis/report/run_kind.hpp"
#include "harness/base/error.hpp"
#include "harness/session/stored/run_record.hpp"

namespace plumb::session {
namespace {

constexpr const char* kRecordKind = "baseline";

analysis::BaselineEntry make_entry(const results::RunRecord& run,
                                   const results::DerivedRecord& record) {
  const auto payload = nlohmann::json::parse(record.payload);
  analysis::BaselineEntry entry;
  entry.name = record.subject;
  entry.run = run.header;
  entry.current = run.has_tag(record.subject);
  entry.accepted = parse_timestamp(payload.at("accepted").get<std::string>());
  entry.who = payload.at("who").get<std::string>();
  entry.reason = payload.at("reason").get<std::string>();
  entry.previous = payload.at("previous").get<std::string>();
  return entry;
}

}  // namespace

void accept_baseline(store::Store& store,
                     const results::RunRecord& run,
                     const std::string& name,
                     const std::string& who,
                     const std::string& reason,
                     bool partial) {
  if (run.state == results::RunState::kRunning ||
      (run.state != results::RunState::kFinished && !partial)) {
    throw Error(Error::Kind::kUser,
                fmt::format("run {} is {}: only a finished run can be a baseline; continue it with "
                            "`plumb run --resume`, or accept an interrupted one with --partial",
                            run.header.id,
                            to_text(run.state)));
  }
  if (!analysis::is_point_of_history(run.header)) {
    throw Error(Error::Kind::kUser,
                fmt::format("run {} {}: accept another run of `plumb run` as the baseline",
                            run.header.id,
                            analysis::why_no_history(run.header)));
  }
  std::string previous;
  for (const results::RunRecord& other : store.runs()) {
    if (other.has_tag(name)) {
      previous = other.header.id;
    }
  }
  store.tag(run.header.id, name);
  put_run_record(store,
                 run.header.id,
                 kRecordKind,
                 name,
                 nlohmann::json{{"accepted", to_text(current_time())},
                                {"who", who},
                                {"reason", reason},
                                {"previous", previous}}
                     .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::vector<analysis::BaselineEntry> baselines_in(const store::Store& store) {
  std::vector<analysis::BaselineEntry> entries;
  for (const results::RunRecord& run : store.runs()) {
    std::vector<std::string> unrecorded = run.tags;
    std::erase_if(unrecorded, [](const std::string& tag) {
      return tag != "baseline" && !tag.starts_with("baseline/");
    });
    for (const results::DerivedRecord& record : store.derived(run.header.id, kRecordKind)) {
      entries.push_back(make_entry(run, record));
      std::erase(unrecorded, record.subject);
    }
    for (const std::string& tag : unrecorded) {
      analysis::BaselineEntry& entry = entries.emplace_back();
      entry.name = tag;
      entry.run = run.header;
      entry.current = true;
    }
  }
  std::stable_sort(entries.begin(), entries.end(), [](const auto& one, const auto& other) {
    return one.accepted > other.accepted;
  });
  return entries;
}

}  // namespace plumb::session
