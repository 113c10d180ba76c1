// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/stored_triage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/session/stored/change_triage.hpp"
#include "harness/session/stored/stored_history.hpp"

namespace plumb::session {
namespace {

/// A history with what was found in it. `findings` are parallel to the history's series.
struct JudgedHistory {
  analysis::SuiteHistory history;
  std::vector<analysis::SeriesFinding> findings;
};

JudgedHistory judge_history(const store::Store& store, const analysis::RunSeries& series) {
  HistoryQuery query;
  query.only = series;
  JudgedHistory judged{read_history(store, query), {}};
  const std::vector<analysis::ChangeRecord> book = read_changes(store, judged.history.runs);
  for (const analysis::SeriesHistory& each : judged.history.series) {
    judged.findings.push_back(analysis::judge_series(each, book));
  }
  return judged;
}

const results::RunHeader& header_of(const analysis::SuiteHistory& history,
                                    const results::RunId& run) {
  const auto found = std::find_if(history.runs.begin(), history.runs.end(), [&](const auto& each) {
    return each.header.id == run;
  });
  PLUMB_CHECK(found != history.runs.end());
  return found->header;
}

analysis::OpenChange describe(const analysis::SuiteHistory& history,
                              const analysis::SeriesHistory& series,
                              const analysis::SeriesChange& change) {
  const results::RunHeader& after = header_of(history, change.run);
  analysis::OpenChange described{
      .history = history.name,
      .series = series.id,
      .change = change,
      .started = after.started,
      .family = analysis::kernel_family(series.id, series.points[change.index].variant),
      .causes = {}};
  if (!change.run_before.empty()) {
    described.causes = analysis::possible_causes(header_of(history, change.run_before).environment,
                                                 after.environment);
  }
  return described;
}

/// Returns the histories that names stand for, each with the names that it is to be asked for.
std::map<analysis::RunSeries, std::vector<std::string>> histories_of(
    const store::Store& store, std::span<const std::string> names) {
  std::map<analysis::RunSeries, std::vector<std::string>> histories;
  for (const std::string& name : names) {
    const std::size_t at = name.rfind('@');
    if (at == std::string::npos) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}' does not name a change: write SERIES@RUN, or @RUN for all "
                              "changes of a run",
                              name));
    }
    histories[analysis::run_series_of(store.find_run(name.substr(at + 1)).header)].push_back(name);
  }
  return histories;
}

void check_words(const char* what, const std::string& text, std::size_t most) {
  if (text.size() > most || std::any_of(text.begin(), text.end(), [](char c) {
        return static_cast<unsigned char>(c) < ' ' || c == '\x7F';
      })) {
    throw Error(Error::Kind::kUser,
                fmt::format("the {} has {} bytes: up to {} are allowed, and no control characters",
                            what,
                            text.size(),
                            most));
  }
}

}  // namespace

std::vector<analysis::OpenChange> read_open_changes(const store::Store& store,
                                                    const std::string& suite,
                                                    const std::string& stack) {
  std::vector<analysis::OpenChange> open;
  for (const analysis::RunSeries& series : list_histories(store, suite, stack)) {
    const JudgedHistory judged = judge_history(store, series);
    for (std::size_t i = 0; i < judged.findings.size(); ++i) {
      for (const analysis::SeriesChange& change : judged.findings[i].changes) {
        if (change.is_open()) {
          open.push_back(describe(judged.history, judged.history.series[i], change));
        }
      }
    }
  }
  return open;
}

std::size_t enter_decision(store::Store& store,
                           std::span<const std::string> names,
                           const TriageDecision& decision) {
  constexpr std::size_t kMaxWords = 2000;
  constexpr std::size_t kMaxName = 100;
  check_words("reason", decision.reason, kMaxWords);
  check_words("note", decision.note, kMaxWords);
  check_words("name", decision.who, kMaxName);
  check_words("name", decision.assignee.value_or(""), kMaxName);
  if (decision.state && decision.reason.empty()) {
    throw Error(Error::Kind::kUser, "a decision needs a reason, which is stored with it");
  }
  struct Entries {
    std::vector<analysis::ChangeRecord> changes;
    results::RunId newest;
  };
  std::vector<Entries> all;
  std::size_t count = 0;
  for (const auto& [series, wanted] : histories_of(store, names)) {
    const JudgedHistory judged = judge_history(store, series);
    Entries entries{{}, judged.history.runs.back().header.id};
    for (const std::string& name : wanted) {
      for (analysis::ChangeRecord& entry : named_changes(store, judged.findings, name)) {
        if (decision.state) {
          entry.state = *decision.state;
          entry.reason = decision.reason;
        }
        entry.who = decision.who;
        entry.assignee = decision.assignee;
        entry.note = decision.note;
        entries.changes.push_back(std::move(entry));
      }
    }
    count += entries.changes.size();
    all.push_back(std::move(entries));
  }
  for (const Entries& entries : all) {
    enter_changes(store, entries.changes, entries.newest);
  }
  return count;
}

std::vector<analysis::ChangeEvidence> read_change_evidence(const store::Store& store,
                                                           const std::string& name) {
  std::vector<analysis::ChangeEvidence> all;
  const auto histories = histories_of(store, {&name, 1});
  const JudgedHistory judged = judge_history(store, histories.begin()->first);
  const std::vector<analysis::ChangeRecord> named = named_changes(store, judged.findings, name);
  for (std::size_t i = 0; i < judged.findings.size(); ++i) {
    const analysis::SeriesHistory& series = judged.history.series[i];
    for (const analysis::SeriesChange& change : judged.findings[i].changes) {
      if (change.run_before.empty() ||
          std::none_of(named.begin(), named.end(), [&](const analysis::ChangeRecord& each) {
            return each.series == series.id && each.run == change.run;
          })) {
        continue;
      }
      analysis::ChangeEvidence evidence;
      evidence.change = describe(judged.history, series, change);
      evidence.before = header_of(judged.history, change.run_before);
      evidence.after = header_of(judged.history, change.run);
      for (const analysis::SeriesHistory::Point& point : series.points) {
        evidence.seconds.push_back(point.seconds);
      }
      evidence.series = judged.findings.size();
      for (const analysis::SeriesFinding& finding : judged.findings) {
        evidence.changed_there +=
            std::any_of(finding.changes.begin(),
                        finding.changes.end(),
                        [&](const auto& each) { return each.run == change.run; })
                ? 1U
                : 0U;
      }
      all.push_back(std::move(evidence));
    }
  }
  std::stable_sort(all.begin(),
                   all.end(),
                   [](const analysis::ChangeEvidence& one, const analysis::ChangeEvidence& other) {
                     const auto growth = [](const analysis::ChangeEvidence& each) {
                       return each.change.change.after / each.change.change.before;
                     };
                     return growth(one) > growth(other);
                   });
  return all;
}

}  // namespace plumb::session
