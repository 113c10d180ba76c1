// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/review/triage_documents.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/aligned_table.hpp"
#include "reporting/document/quantity_text.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
namespace {

constexpr std::size_t kChangesShown = 5;
constexpr std::size_t kCausesShown = 4;

std::string address_of(const analysis::PossibleCause& cause, const results::CommitLink& commits) {
  return cause.kind == analysis::CauseKind::kCommit ? commits.address(cause.after) : "";
}

std::string head_text(const analysis::ChangeGroup& group) {
  return group.causes.empty() ? "no recorded fact changed" : cause_text(group.causes.front());
}

void write_group(const analysis::ChangeGroup& group,
                 const results::CommitLink& commits,
                 std::size_t shown,
                 std::ostream& out) {
  out << fmt::format("\n{}: {} {} ({})\n",
                     sanitize_utf8(head_text(group)),
                     group.changes.size(),
                     group.changes.size() == 1 ? "change" : "changes",
                     sanitize_utf8(fmt::format("{}", fmt::join(group.families, ", "))));
  for (std::size_t i = 0; i < std::min(group.causes.size(), kCausesShown); ++i) {
    const std::string address = address_of(group.causes[i], commits);
    if (i > 0 || !address.empty()) {
      out << fmt::format("  {}{}\n",
                         i > 0 ? "also changed: " + sanitize_utf8(cause_text(group.causes[i])) : "",
                         (i > 0 && !address.empty() ? "  " : "") + address);
    }
  }
  AlignedTable table({{"  before", true},
                      {"after", true},
                      {"change", true},
                      {"state"},
                      {"for"},
                      {"suite"},
                      {"stack"},
                      {"series"}});
  std::set<results::RunId> runs;
  for (std::size_t i = 0; i < group.changes.size(); ++i) {
    const analysis::OpenChange& each = group.changes[i];
    runs.insert(each.change.run);
    if (i < shown) {
      table.add({time_text(Seconds(each.change.before)),
                 time_text(Seconds(each.change.after)),
                 change_text(each.change.after / each.change.before),
                 std::string(to_text(each.change.state)),
                 each.change.assignee.empty() ? "–" : each.change.assignee,
                 each.history.suite,
                 each.history.stack,
                 each.series});
    }
  }
  table.write(out);
  if (group.changes.size() > shown) {
    out << fmt::format("  and {} more: --all\n", group.changes.size() - shown);
  }
  for (const analysis::OpenChange& each : group.changes) {
    for (const analysis::ChangeNote& note : each.change.notes) {
      out << fmt::format("  {}: {} ({})\n",
                         sanitize_utf8(note.who.empty() ? "note" : note.who),
                         sanitize_utf8(note.text),
                         sanitize_utf8(each.series));
    }
  }
  out << fmt::format("  decide: plumb triage accept @{} --reason TEXT\n", fmt::join(runs, " @"));
}

analysis::Json change_json(const analysis::OpenChange& each) {
  analysis::Json notes = analysis::Json::array();
  for (const analysis::ChangeNote& note : each.change.notes) {
    notes.push_back({{"who", note.who}, {"text", note.text}});
  }
  return {{"change", each.series + "@" + each.change.run},
          {"series", each.series},
          {"run", each.change.run},
          {"started", to_text(each.started)},
          {"suite", each.history.suite},
          {"stack", each.history.stack},
          {"threads", each.history.threads},
          {"system", each.history.system},
          {"family", each.family},
          {"before_seconds", each.change.before},
          {"after_seconds", each.change.after},
          {"state", to_text(each.change.state)},
          {"assignee",
           each.change.assignee.empty() ? analysis::Json() : analysis::Json(each.change.assignee)},
          {"notes", std::move(notes)}};
}

analysis::Json group_json(const analysis::ChangeGroup& group, const results::CommitLink& commits) {
  analysis::Json causes = analysis::Json::array();
  for (const analysis::PossibleCause& cause : group.causes) {
    const std::string address = address_of(cause, commits);
    causes.push_back(
        {{"kind", to_text(cause.kind)},
         {"fact", cause.fact},
         {"before", cause.before},
         {"after", cause.after},
         {"commit_url", address.empty() ? analysis::Json() : analysis::Json(address)}});
  }
  analysis::Json changes = analysis::Json::array();
  for (const analysis::OpenChange& each : group.changes) {
    changes.push_back(change_json(each));
  }
  return {
      {"causes", std::move(causes)}, {"families", group.families}, {"changes", std::move(changes)}};
}

}  // namespace

std::string cause_text(const analysis::PossibleCause& cause) {
  const bool commit = cause.kind == analysis::CauseKind::kCommit;
  const auto shown = [&](const std::string& value) {
    return value.empty() ? std::string("–") : commit ? results::short_commit(value) : value;
  };
  return fmt::format(
      "{} {} → {}", commit ? "commit" : cause.fact, shown(cause.before), shown(cause.after));
}

void write_triage(std::span<const analysis::ChangeGroup> groups,
                  const results::CommitLink& commits,
                  OutputMode style,
                  Detail detail,
                  std::ostream& out) {
  std::size_t changes = 0;
  analysis::Json list = analysis::Json::array();
  for (const analysis::ChangeGroup& group : groups) {
    changes += group.changes.size();
    list.push_back(group_json(group, commits));
  }
  if (style == OutputMode::kJson) {
    write_json(analysis::Json{{"schema_version", analysis::kJsonSchemaVersion},
                              {"open", changes},
                              {"groups", std::move(list)}},
               out);
    return;
  }
  if (changes == 0) {
    out << "no open changes\n";
    return;
  }
  out << fmt::format("{} open {}, {} likely {}\n",
                     changes,
                     changes == 1 ? "change" : "changes",
                     groups.size(),
                     groups.size() == 1 ? "cause" : "causes");
  for (const analysis::ChangeGroup& group : groups) {
    write_group(group, commits, detail == Detail::kAll ? group.changes.size() : kChangesShown, out);
  }
}

}  // namespace plumb::reporting
