// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/stored_triage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/series/series_name.hpp"
#include "harness/session/stored/stored_history.hpp"
#include "harness/session/stored/stored_records.hpp"

namespace plumb::session {
namespace {

/// Entries of the book of changes for one series in one run.
struct StoredEntries {
  std::size_t count = 0;
  std::optional<nlohmann::json> last;
};

StoredEntries read_entries(const store::Store& store,
                           const analysis::SeriesChange::Record& change) {
  StoredEntries entries;
  std::string last;
  for (results::DerivedRecord& record : store.derived(change.run, results::kChangeRecord)) {
    if (record.subject == change.series) {
      ++entries.count;
      last = std::move(record.payload);
    }
  }
  if (entries.count > 0) {
    entries.last = results::parse_json(last);
  }
  return entries;
}

/// Returns whether a stored entry says what a new one does, which has no number yet.
bool says_the_same(nlohmann::json stored, const nlohmann::json& entry) {
  stored.erase("number");
  return stored == entry;
}

}  // namespace

std::vector<analysis::SeriesChange::Record> read_changes(const store::Store& store,
                                                         std::span<const results::RunRecord> runs) {
  std::vector<analysis::SeriesChange::Record> changes;
  for (const results::RunRecord& run : runs) {
    for (const results::DerivedRecord& record :
         store.derived(run.header.id, results::kChangeRecord)) {
      const nlohmann::json document = results::parse_json(record.payload);
      const results::JsonObject entry(document);
      const auto state = analysis::parse_change_state(entry.text("state"));
      if (!state) {
        throw Error(Error::Kind::kEnvironment,
                    "run " + record.run + " has a change in the state '" + entry.text("state") +
                        "', which this version does not know: use a newer plumb");
      }
      changes.push_back(
          {.series = record.subject,
           .run = record.run,
           .state = *state,
           .reason = entry.text_or_empty("reason"),
           .before = entry.number("before_seconds"),
           .after = entry.number("after_seconds"),
           .who = entry.text_or_empty("who"),
           .assignee = entry.has("assignee") ? std::optional(entry.text("assignee")) : std::nullopt,
           .note = entry.text_or_empty("note")});
    }
  }
  return changes;
}

void enter_changes(store::Store& store,
                   std::span<const analysis::SeriesChange::Record> changes,
                   const results::RunId& newest) {
  for (const analysis::SeriesChange::Record& change : changes) {
    nlohmann::json entry{{"state", to_text(change.state)},
                         {"reason", change.reason},
                         {"before_seconds", change.before},
                         {"after_seconds", change.after},
                         {"judged_with", newest}};
    if (!change.who.empty()) {
      entry["who"] = change.who;
    }
    if (change.assignee) {
      entry["assignee"] = *change.assignee;
    }
    if (!change.note.empty()) {
      entry["note"] = change.note;
    }
    const StoredEntries earlier = read_entries(store, change);
    if (earlier.last && says_the_same(*earlier.last, entry)) {
      continue;
    }
    // The store drops a record that it has already, and a decision may come back.
    entry["number"] = earlier.count;
    put_run_record(store, change.run, results::kChangeRecord, change.series, json_text(entry));
  }
}

std::vector<analysis::SeriesChange::Record> named_changes(
    const store::Store& store,
    std::span<const analysis::SeriesFinding> findings,
    const std::string& name) {
  const std::size_t at = name.rfind('@');
  const std::string series = name.substr(0, at);
  const results::RunId run =
      at == std::string::npos ? results::RunId() : store.find_run(name.substr(at + 1)).header.id;
  std::vector<analysis::SeriesChange::Record> entries;
  for (const analysis::SeriesFinding& finding : findings) {
    for (const analysis::SeriesChange& change : finding.changes) {
      if (change.run == run &&
          (series.empty() || finding.id == series || finding.id == results::layer_series(series))) {
        entries.push_back(
            {finding.id, run, change.state, change.reason, change.before, change.after});
      }
    }
  }
  if (entries.empty()) {
    throw Error(Error::Kind::kUser,
                "'" + name +
                    "' does not name a change: write SERIES@RUN as 'plumb detect' lists it, or "
                    "@RUN for all changes of a run");
  }
  return entries;
}

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
  const std::vector<analysis::SeriesChange::Record> book = read_changes(store, judged.history.runs);
  for (const analysis::SuiteHistory::Series& each : judged.history.series) {
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
                              const analysis::SuiteHistory::Series& series,
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
    std::vector<analysis::SeriesChange::Record> changes;
    results::RunId newest;
  };
  std::vector<Entries> all;
  std::size_t count = 0;
  for (const auto& [series, wanted] : histories_of(store, names)) {
    const JudgedHistory judged = judge_history(store, series);
    Entries entries{{}, judged.history.runs.back().header.id};
    for (const std::string& name : wanted) {
      for (analysis::SeriesChange::Record& entry : named_changes(store, judged.findings, name)) {
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
  const std::vector<analysis::SeriesChange::Record> named =
      named_changes(store, judged.findings, name);
  for (std::size_t i = 0; i < judged.findings.size(); ++i) {
    const analysis::SuiteHistory::Series& series = judged.history.series[i];
    for (const analysis::SeriesChange& change : judged.findings[i].changes) {
      if (change.run_before.empty() ||
          std::none_of(named.begin(), named.end(), [&](const analysis::SeriesChange::Record& each) {
            return each.series == series.id && each.run == change.run;
          })) {
        continue;
      }
      analysis::ChangeEvidence evidence;
      evidence.change = describe(judged.history, series, change);
      evidence.before = header_of(judged.history, change.run_before);
      evidence.after = header_of(judged.history, change.run);
      for (const analysis::SuiteHistory::Series::Point& point : series.points) {
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
