// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/history/series_history.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "harness/analysis/compare/comparison_result.hpp"
#include "harness/base/parsed_text.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/run.hpp"
#include "harness/results/series/series_name.hpp"

namespace plumb::analysis {
namespace {

constexpr double kMaxFalse = 0.01;  // quiet series of a hundred that open something on any night
constexpr double kMeanDwell = 30.0;
constexpr double kDwellOfStep = 1.2;  // runs of a level × relative step
constexpr std::size_t kWindow = 120;

bool is_near(std::size_t one, std::size_t other) {
  return one <= other + kMaxMove && other <= one + kMaxMove;
}

constexpr double kCameBack = 0.25;  // of a step, that a fixed level may keep
constexpr std::array<std::string_view, kChangeStates.size()> kNames{
    "detected", "confirmed", "accepted", "invalid", "environment", "went_away", "fixed"};

bool is_open_state(SeriesChange::State state) {
  return state == SeriesChange::State::kDetected || state == SeriesChange::State::kConfirmed;
}

bool starts_segment(SeriesChange::State state) {
  return state == SeriesChange::State::kAccepted || state == SeriesChange::State::kEnvironment;
}

/// What the book says of one change, with its index in the history.
struct Entry {
  std::size_t index = 0;
  SeriesChange::Record record;  ///< the last one
  std::string assignee;
  std::vector<SeriesChange::Note> notes;
  bool matched = false;
};

/// Returns what the book says of each run, in order of the runs.
std::vector<Entry> list_entries(const SuiteHistory::Series& history,
                                std::span<const SeriesChange::Record> book) {
  std::map<results::RunId, Entry> last;
  for (const SeriesChange::Record& record : book) {
    if (record.series == history.id) {
      Entry& entry = last[record.run];
      entry.record = record;
      entry.assignee = record.assignee.value_or(entry.assignee);
      if (!record.note.empty()) {
        entry.notes.push_back({record.who, record.note});
      }
    }
  }
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < history.points.size(); ++i) {
    if (const auto found = last.find(history.points[i].run); found != last.end()) {
      entries.push_back(found->second);
      entries.back().index = i;
    }
  }
  return entries;
}

std::size_t distance(std::size_t one, std::size_t other) {
  return one < other ? other - one : one - other;
}

/// Returns the nearest entry that may be this change point. Null: there is none.
Entry* find_entry(std::vector<Entry>& entries, const stats::ChangePoint& point) {
  Entry* nearest = nullptr;
  for (Entry& entry : entries) {
    const bool same_way =
        (entry.record.after > entry.record.before) == (point.after > point.before);
    const std::size_t away = distance(entry.index, point.index);
    if (!entry.matched && same_way && away <= kMaxMove &&
        (nearest == nullptr || away < distance(nearest->index, point.index))) {
      nearest = &entry;
    }
  }
  return nearest;
}

/// Judgement of one series in progress.
class Judgement {
 public:
  Judgement(const SuiteHistory::Series& history, std::span<const SeriesChange::Record> book)
      : history_(history), entries_(list_entries(history, book)) {
    finding_.id = history.id;
    finding_.points = history.points.size();
    for (const SuiteHistory::Series::Point& point : history.points) {
      values_.push_back(point.seconds);
    }
    for (const Entry& entry : entries_) {
      if (starts_segment(entry.record.state)) {
        explained_.push_back(entry.index);
      }
    }
  }

  SeriesFinding judge(bool variance) {
    detection_ = stats::detect_changes(values_, variance);
    const stats::Detection& detection = detection_;
    finding_.two_states = detection.two_states;
    finding_.state_changes = detection.state_changes;
    finding_.trend = detection.creep;
    finding_.variance_changes = detection.variance_changes;
    for (const stats::Detection::Suspicion& suspicion : detection.suspicions) {
      finding_.suspicions.push_back(
          {history_.points[suspicion.index].run, suspicion.before, suspicion.after});
    }
    for (const stats::ChangePoint& point : detection.change_points) {
      take(point);
    }
    take_unmatched();
    std::sort(finding_.changes.begin(),
              finding_.changes.end(),
              [](const auto& one, const auto& other) { return one.index < other.index; });
    mark_fixed();
    look_for_creep();
    return std::move(finding_);
  }

 private:
  SeriesChange change_at(std::size_t index, double before, double after) const {
    SeriesChange change;
    change.index = index;
    change.run = history_.points[index].run;
    change.run_before = index == 0 ? results::RunId() : history_.points[index - 1].run;
    change.before = before;
    change.after = after;
    return change;
  }

  void take(const stats::ChangePoint& point) {
    SeriesChange change = change_at(point.index, point.before, point.after);
    change.confidence = point.confidence;
    Entry* const entry = find_entry(entries_, point);
    if (entry != nullptr) {
      entry->matched = true;
      // The book's run identifies the change from then on, even if more points would move it.
      change = change_at(entry->index, point.before, point.after);
      change.confidence = point.confidence;
      change.state = entry->record.state;
      change.reason = entry->record.reason;
      change.assignee = entry->assignee;
      change.notes = entry->notes;
    }
    if (entry == nullptr || change.state == SeriesChange::State::kWentAway) {
      change.state = SeriesChange::State::kDetected;
      change.reason.clear();
      enter(change);
    }
    change.early = change.state == SeriesChange::State::kDetected && change.is_undecided() &&
                   change.assignee.empty() && change.notes.empty() && !is_clear(point);
    finding_.changes.push_back(std::move(change));
  }

  /// Returns whether this run and the one before both show a change clearly.
  [[nodiscard]] bool is_clear(const stats::ChangePoint& change) {
    if (!shows_clearly(detection_.change_points, change, values_.size(), explained_)) {
      return false;
    }
    if (!look_before_) {
      look_before_ = stats::detect_changes(std::span(values_).first(values_.size() - 1));
    }
    const std::vector<stats::ChangePoint>& points = look_before_->change_points;
    return std::any_of(points.begin(), points.end(), [&](const stats::ChangePoint& point) {
      return point.after > point.before && distance(point.index, change.index) <= kMaxMove &&
             shows_clearly(points, point, values_.size() - 1, explained_);
    });
  }

  /// Takes over entries without a change point: a person's decision stays, an open change went
  /// away.
  void take_unmatched() {
    for (const Entry& entry : entries_) {
      const SeriesChange::State state = entry.record.state;
      if (entry.matched || (!is_open_state(state) && !starts_segment(state))) {
        continue;
      }
      SeriesChange change = change_at(entry.index, entry.record.before, entry.record.after);
      change.state = starts_segment(state) ? state : SeriesChange::State::kWentAway;
      change.reason = entry.record.reason;
      change.assignee = entry.assignee;
      change.notes = entry.notes;
      if (change.state == SeriesChange::State::kWentAway) {
        enter(change);
      }
      finding_.changes.push_back(std::move(change));
    }
  }

  void mark_fixed() {
    for (std::size_t i = 0; i + 1 < finding_.changes.size(); ++i) {
      SeriesChange& change = finding_.changes[i];
      const SeriesChange& last = finding_.changes.back();
      if (change.is_undecided() && last.confidence &&
          last.after <= change.before + kCameBack * (change.after - change.before)) {
        change.state = SeriesChange::State::kFixed;
        change.early = false;
        enter(change);
      }
    }
  }

  void look_for_creep() {
    std::size_t begin = 0;
    for (const SeriesChange& change : finding_.changes) {
      begin = starts_segment(change.state) ? change.index : begin;
    }
    const auto creep = stats::find_creep(std::span(values_).subspan(begin));
    // An undecided step in the segment explains the rise, so it is not reported again as creep.
    const bool explained = std::any_of(
        finding_.changes.begin(), finding_.changes.end(), [&](const SeriesChange& change) {
          return change.index >= begin && change.is_undecided() &&
                 change.after >= change.before * (1.0 + stats::kMinCreep);
        });
    if (creep && !explained && !finding_.two_states) {
      finding_.creep = creep;
      finding_.creep_since = history_.points[begin + creep->best_index].run;
    }
  }

  void enter(const SeriesChange& change) {
    finding_.news.push_back(
        {history_.id, change.run, change.state, "", change.before, change.after});
  }

  const SuiteHistory::Series& history_;
  std::vector<Entry> entries_;
  std::vector<double> values_;
  std::vector<std::size_t> explained_;  // first runs of levels that a person explained
  stats::Detection detection_;
  std::optional<stats::Detection> look_before_;  // without the newest run; if it was asked for
  SeriesFinding finding_;
};

}  // namespace

bool shows_clearly(std::span<const stats::ChangePoint> points,
                   const stats::ChangePoint& change,
                   std::size_t runs,
                   std::span<const std::size_t> explained) {
  if ((1.0 - change.confidence) * static_cast<double>(runs) > kMaxFalse) {
    return false;
  }
  const std::size_t newest = std::min(runs, kWindow);
  const auto changes = std::count_if(points.begin(), points.end(), [&](const auto& point) {
    return point.index <= change.index && point.index + newest >= runs &&
           (point.index == change.index ||
            std::none_of(explained.begin(), explained.end(), [&](std::size_t run) {
              return is_near(point.index, run);
            }));
  });
  const double dwell = static_cast<double>(newest) / static_cast<double>(changes + 1);
  return dwell >= std::min(kMeanDwell, kDwellOfStep / (change.after / change.before - 1.0));
}

std::string_view to_text(SeriesChange::State state) {
  return enum_text(kNames, state);
}

std::optional<SeriesChange::State> parse_change_state(std::string_view text) {
  return parse_enum<SeriesChange::State>(kNames, text);
}

bool SeriesChange::is_undecided() const {
  return is_open_state(state) && after > before;
}

bool SeriesChange::is_open() const {
  return is_undecided() && !early;
}

std::string state_text(const SeriesChange& change) {
  return std::string(to_text(change.state)) + (change.early ? ", early" : "");
}

SeriesFinding judge_series(const SuiteHistory::Series& history,
                           std::span<const SeriesChange::Record> book,
                           bool variance) {
  return Judgement(history, book).judge(variance);
}

namespace {

// Names and paths, and what is of this program: another fact says it where it matters.
constexpr std::array<std::string_view, 6> kNoCause{
    "boot.", "stack.", "plumb.", "worker.", "label.", "method"};

std::optional<OpenChange::Cause::Kind> cause_kind(const std::string& fact) {
  if (fact == "label.commit") {
    return OpenChange::Cause::Kind::kCommit;
  }
  if (fact.ends_with(".path") || std::any_of(kNoCause.begin(), kNoCause.end(), [&](auto begin) {
        return fact.starts_with(begin);
      })) {
    return std::nullopt;
  }
  return results::is_of_stack(fact)   ? OpenChange::Cause::Kind::kLibrary
         : fact.starts_with("driver") ? OpenChange::Cause::Kind::kDriver
                                      : OpenChange::Cause::Kind::kMachine;
}

/// Identity of a cause. The value before is left out: a history may have missed some nights.
using CauseId = std::tuple<OpenChange::Cause::Kind, std::string, std::string>;

CauseId id_of(const OpenChange::Cause& cause) {
  return {cause.kind, cause.fact, cause.after};
}

/// Sets of changes that belong together.
class Sets {
 public:
  explicit Sets(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t find(std::size_t one) {
    while (parent_[one] != one) {
      parent_[one] = parent_[parent_[one]];
      one = parent_[one];
    }
    return one;
  }
  void join(std::size_t one, std::size_t other) { parent_[find(one)] = find(other); }

 private:
  std::vector<std::size_t> parent_;
};

double growth(const OpenChange& each) {
  return each.change.after / each.change.before;
}

/// Fills in what a group's changes have in common.
void conclude(OpenChange::Group& group) {
  std::map<CauseId, std::pair<OpenChange::Cause, std::size_t>> counts;
  std::set<std::string> families;
  for (const OpenChange& each : group.changes) {
    families.insert(each.family);
    for (const OpenChange::Cause& cause : each.causes) {
      auto& [first, count] = counts.try_emplace(id_of(cause), cause, std::size_t{0}).first->second;
      ++count;
    }
  }
  group.families.assign(families.begin(), families.end());
  std::vector<std::pair<OpenChange::Cause, std::size_t>> shared;
  for (auto& [id, counted] : counts) {
    if (2 * counted.second > group.changes.size()) {
      shared.push_back(std::move(counted));
    }
  }
  std::stable_sort(shared.begin(), shared.end(), [](const auto& one, const auto& other) {
    return one.second != other.second ? one.second > other.second
                                      : one.first.kind < other.first.kind;
  });
  for (auto& [cause, count] : shared) {
    group.causes.push_back(std::move(cause));
  }
  std::stable_sort(
      group.changes.begin(),
      group.changes.end(),
      [](const OpenChange& one, const OpenChange& other) { return growth(one) > growth(other); });
}

}  // namespace

std::string_view to_text(OpenChange::Cause::Kind kind) {
  constexpr std::array<std::string_view, 4> kCauseNames{"commit", "library", "driver", "machine"};
  return kCauseNames.at(static_cast<std::size_t>(kind));
}

std::vector<OpenChange::Cause> possible_causes(const results::Environment& before,
                                               const results::Environment& after) {
  std::vector<OpenChange::Cause> causes;
  for (const EnvironmentDifference& difference : environment_changes(before, after)) {
    if (const auto kind = cause_kind(difference.name)) {
      causes.push_back({*kind, difference.name, difference.baseline, difference.candidate});
    }
  }
  std::stable_sort(causes.begin(), causes.end(), [](const auto& one, const auto& other) {
    return one.kind < other.kind;
  });
  return causes;
}

std::string kernel_family(const std::string& series, std::string_view variant) {
  if (results::is_model_series(series)) {
    return "models";
  }
  const std::string key = results::parse_series(series).subject;
  if (!model::is_layer_key(key)) {
    return "benchmarks";
  }
  const std::string op(model::operator_name(key));
  const std::string family = variant.empty() ? "" : implementation_name(variant).family;
  return family.empty() ? op : op + " " + family;
}

std::vector<OpenChange::Group> group_changes(std::vector<OpenChange> changes) {
  Sets sets(changes.size());
  std::map<CauseId, std::size_t> by_cause;
  std::map<std::pair<results::RunId, std::string>, std::size_t> by_family;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    for (const OpenChange::Cause& cause : changes[i].causes) {
      sets.join(i, by_cause.try_emplace(id_of(cause), i).first->second);
    }
    if (changes[i].causes.empty()) {
      sets.join(i,
                by_family.try_emplace({changes[i].change.run, changes[i].family}, i).first->second);
    }
  }
  std::map<std::size_t, OpenChange::Group> groups;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    groups[sets.find(i)].changes.push_back(std::move(changes[i]));
  }
  std::vector<OpenChange::Group> result;
  for (auto& [root, group] : groups) {
    conclude(group);
    result.push_back(std::move(group));
  }
  std::stable_sort(result.begin(),
                   result.end(),
                   [](const OpenChange::Group& one, const OpenChange::Group& other) {
                     return one.changes.size() != other.changes.size()
                                ? one.changes.size() > other.changes.size()
                                : growth(one.changes.front()) > growth(other.changes.front());
                   });
  return result;
}

}  // namespace plumb::analysis
