// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/coschedule/co_schedule.hpp"
#include "harness/analysis/report/run_json.hpp"
#include "reporting/content/run/run_content.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

using analysis::Json;
using analysis::PartitionStep;

/// Makes a box of a drawing in lanes: its first line is written in it, the others are beside it.
Json make_box(std::size_t lane,
              Seconds begin,
              Seconds end,
              const char* state,
              std::vector<std::string> lines) {
  std::erase(lines, "");
  return {{"lane", lane},
          {"begin", begin.count()},
          {"end", end.count()},
          {"state", state},
          {"lines", std::move(lines)}};
}

Json step_box(const analysis::RunReport::Model& model,
              const PartitionStep& step,
              const analysis::CoSchedule::Unlimited::Place& place) {
  const bool missing = !step.time && !is_free(model, step);
  const std::string spent = step.time ? time_text(step.time->time.median)
                                      : std::string(missing ? "not measured" : "no work");
  Json box = make_box(place.lane,
                      place.begin,
                      place.end,
                      missing ? "missing" : (step.critical ? "critical" : "plain"),
                      {name_of(first_layer(model, step)),
                       spent,
                       step.rewrite,
                       step.time ? step.time->variant : "",
                       step.key.text});
  box["short"] = first_layer(model, step).onnx_op;
  return box;
}

void add_critical_path(const analysis::RunReport::Model& model, Page& page) {
  const std::vector<PartitionStep>& steps = model.bounds.cover;
  const std::vector<std::vector<std::size_t>> needs = analysis::step_needs(model.graph, steps);
  const analysis::CoSchedule::Unlimited schedule = analysis::schedule_without_limits(steps, needs);
  Json boxes = Json::array();
  Json links = Json::array();
  for (std::size_t step = 0; step < steps.size(); ++step) {
    boxes.push_back(step_box(model, steps[step], schedule.places[step]));
    for (const std::size_t need : needs[step]) {
      if (schedule.places[need].lane != schedule.places[step].lane) {
        links.push_back({need, step});
      }
    }
  }
  const auto whole = complete_time(model.bounds, results::BoundKind::kLibrary, "fusion");
  const auto path = complete_time(model.bounds, results::BoundKind::kLibraryParallel, "fusion");
  page.subheading("Critical path");
  page.paragraph(
      (whole && path && *whole > Seconds{} ? fmt::format("{} of {} ({:.1f} %) lie on it. ",
                                                         time_text(*path),
                                                         time_text(*whole),
                                                         100.0 * (*path / *whole))
                                           : "") +
      "Each box is one step, as wide as its time. It starts as soon as its inputs are ready. The "
      "first lane is the critical path. The lanes below could run beside it. Point at a box for "
      "its name, variant and key.");
  page.chart("Layers of " + title_of(model) + " against time, critical path in the first lane",
             0,
             "lanes",
             {{"total", schedule.total.count()},
              {"lanes", schedule.lanes},
              {"ticks", schedule.timed},
              {"boxes", boxes},
              {"links", links}});
}

/// Adds Rammer's schedule: a lane for each processor, and on it the parts of steps.
void add_schedule(const analysis::RunReport::Model& model, Page& page) {
  constexpr std::size_t kMaxProcessors = 64;
  constexpr std::size_t kMaxParts = 20000;
  const auto found = std::find_if(
      model.schedules.begin(), model.schedules.end(), [](const analysis::CoSchedule& each) {
        return each.mode == "fusion" && each.schedule.complete &&
               each.processors <= kMaxProcessors && each.parts.size() <= kMaxParts;
      });
  if (found == model.schedules.end()) {
    return;
  }
  std::map<std::size_t, std::size_t> processors;  // by step
  for (const analysis::CoSchedule::Part& part : found->parts) {
    ++processors[part.step];
  }
  Json boxes = Json::array();
  for (const analysis::CoSchedule::Part& part : found->parts) {
    const PartitionStep& step = found->steps[part.step];
    const std::size_t count = processors[part.step];
    boxes.push_back(
        make_box(part.processor,
                 part.begin,
                 part.end,
                 count > 1 ? "plain" : "critical",
                 {analysis::name_of(model.graph, step.layers),
                  time_text(part.end - part.begin) + " on " + counted(count, "processor"),
                  step.key.text}));
  }
  page.subheading("Steps that share the processors");
  page.paragraph(fmt::format(
      "{} by Rammer's wavefront schedule, {} one after the other, and at least {} (occupancy). "
      "Each lane is one of {} processors. A highlighted step has a processor to itself. Times come "
      "from this run and from runs with fewer threads. Caches and memory that the processors share "
      "are left out.",
      time_text(found->schedule.seconds),
      time_text(found->sequential.seconds),
      time_text(found->occupancy.seconds),
      found->processors));
  page.chart(fmt::format("Schedule of {} on {} processors", title_of(model), found->processors),
             0,
             "lanes",
             {{"total", found->schedule.seconds.count()},
              {"lanes", found->processors},
              {"ticks", true},
              {"boxes", boxes}});
}

std::string text_of(const Json& object, const char* field) {
  return object.at(field).get<std::string>();
}

Seconds seconds_of(const Json& object, const char* field) {
  return Seconds(object.at(field).get<double>());
}

std::string call_text(const Json& call) {
  const std::string name = text_of(call, "name");
  return text_of(call, "operation") + (name.empty() ? "" : " ") + name;
}

/// Returns the first layers of a call or a finding.
std::string layers_text(const Json& object) {
  constexpr std::size_t kMost = 3;
  return fmt::format(
      "{}",
      fmt::join(first_texts(object.at("layers").get<std::vector<std::string>>(), kMost), ", "));
}

/// Returns calls, and below them the layers that they execute, each where its first call is.
Json trace_boxes(const Json& calls) {
  Json boxes = Json::array();
  std::set<std::string> shown;
  for (const Json& call : calls) {
    const bool computes = text_of(call, "kind") == "compute";
    const Seconds time = seconds_of(call, "seconds");
    Seconds begin = seconds_of(call, "start_seconds");
    boxes.push_back(make_box(0,
                             begin,
                             begin + time,
                             computes ? "plain" : "critical",
                             {call_text(call),
                              time_text(time),
                              text_of(call, "kind"),
                              text_of(call, "implementation")}));
    const auto layers = call.at("layers").get<std::vector<std::string>>();
    for (const std::string& layer : computes ? layers : std::vector<std::string>()) {
      const Seconds end = begin + time / static_cast<double>(layers.size());
      if (shown.insert(layer).second) {
        boxes.push_back(
            make_box(1, begin, end, "plain", {layer, "of a call of " + time_text(time)}));
      }
      begin = end;
    }
  }
  return boxes;
}

void add_trace_tables(const Json& trace, Page& page) {
  const Seconds span =
      std::max(seconds_of(trace, "execution_seconds"), seconds_of(trace, "traced_seconds"));
  PageTable findings{.head = head_row("finding|#time|#share|layers|evidence"),
                     .caption = "Findings: at most so much is lost, and times may overlap."};
  for (const Json& finding : trace.at("findings")) {
    const Seconds time = seconds_of(finding, "seconds");
    if (finding.at("loss").get<bool>()) {
      findings.row() << text_of(finding, "finding") << time
                     << small_share_cell(span > Seconds{} ? time / span : 0.0)
                     << layers_text(finding) << text_of(finding, "evidence");
    }
  }
  page.table(findings);
  PageTable calls{.head = head_row("executed|#time|implementation|expected"),
                  .caption = "Calls in order, and the layers that they execute."};
  for (const Json& call : trace.at("calls")) {
    calls.row() << call_text(call) << seconds_of(call, "seconds") << text_of(call, "implementation")
                << (call.at("layers").empty() ? "not matched" : layers_text(call));
  }
  page.begin_fold("Every call", false);
  page.table(calls);
  page.end_fold();
}

/// Adds what a runtime executed against what the model needs, if the run keeps a trace.
void add_trace(const analysis::RunReport::Model& model, Page& page) {
  constexpr std::size_t kMaxCalls = 20000;
  const Json trace = model.trace.empty() ? Json() : Json::parse(model.trace);
  if (trace.is_null() || trace.at("calls").empty() || trace.at("calls").size() > kMaxCalls) {
    return;
  }
  Seconds end{};
  for (const Json& call : trace.at("calls")) {
    end = std::max(end, seconds_of(call, "start_seconds") + seconds_of(call, "seconds"));
  }
  const Seconds traced = seconds_of(trace, "traced_seconds");
  page.subheading("Executed and expected");
  page.paragraph(fmt::format(
      "Trace of {}: {} in {} calls, {:.1f} % of it matched to layers. Highlighted calls compute "
      "nothing.",
      text_of(trace, "stack").empty()
          ? fmt::format("{}",
                        fmt::join(trace.at("formats").get<std::vector<std::string>>(), " and "))
          : text_of(trace, "stack") + ", mode " + text_of(trace, "mode"),
      time_text(traced),
      trace.at("calls").size(),
      traced > Seconds{} ? 100.0 * (seconds_of(trace, "matched_seconds") / traced) : 0.0));
  page.chart("Executed and expected calls of " + title_of(model),
             0,
             "lanes",
             {{"total", end.count()},
              {"lanes", 2},
              {"names", {"executed", "expected"}},
              {"ticks", true},
              {"boxes", trace_boxes(trace.at("calls"))}});
  add_trace_tables(trace, page);
}

}  // namespace

void add_timelines(const analysis::RunReport::Model& model, Page& page) {
  add_critical_path(model, page);
  add_schedule(model, page);
  add_trace(model, page);
}

}  // namespace plumb::reporting
