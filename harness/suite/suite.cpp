// SPDX-License-Identifier: Apache-2.0
#include "harness/suite/suite.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/base/parsed_text.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/rewrite/gradient/training_graph.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "harness/suite/toml_section.hpp"

namespace plumb::suite {

std::optional<double> standard_percentile(loadgen::ScenarioName scenario) {
  if (scenario == loadgen::ScenarioName::kOffline) {
    return std::nullopt;
  }
  return scenario == loadgen::ScenarioName::kSingleStream ? 90.0 : 99.0;
}

std::string to_text(const Scenario& scenario) {
  const Scenario::Limits& limits = scenario.limits;
  std::string text;
  const auto add = [&text](const std::optional<Seconds>& limit, const char* name) {
    if (limit) {
      text += fmt::format("{}{} {:g} ms", text.empty() ? ": " : ", ", name, limit->count() * 1e3);
    }
  };
  add(limits.latency, "latency");
  add(limits.first_token, "first token");
  add(limits.per_token, "later tokens");
  const std::string_view name = to_text(scenario.name);
  return limits.percentile ? fmt::format("{} ({:g} %{})", name, *limits.percentile, text)
                           : std::string(name);
}

namespace {

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr std::array<Unit, 6> kUnits{
    {{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}}};
constexpr double kMaximumSeconds = 100.0 * 366 * 86400;
constexpr std::string_view kMaxAge = "max_age:";

}  // namespace

Seconds parse_duration(std::string_view text) {
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) {
      continue;
    }
    double number = 0;
    const char* const end = text.data() + text.size() - unit.name.size();
    const auto result = std::from_chars(text.data(), end, number, std::chars_format::fixed);
    const double seconds = number * unit.seconds;
    if (result.ec == std::errc() && result.ptr == end && seconds > 0 &&
        seconds <= kMaximumSeconds) {
      return Seconds(seconds);
    }
  }
  throw Error(Error::Kind::kUser,
              fmt::format("'{}' is not a duration: write a positive number and us, ms, s, m, h or "
                          "d, such as 15ms, 10m or 7d",
                          text.substr(0, 64)));
}

ResolvedSuite::Reuse parse_reuse(std::string_view text) {
  if (text == "never") {
    return {.kind = ResolvedSuite::Reuse::Kind::kNever, .max_age = {}};
  }
  if (text == "always") {
    return {.kind = ResolvedSuite::Reuse::Kind::kAlways, .max_age = {}};
  }
  if (text.starts_with(kMaxAge)) {
    return {.kind = ResolvedSuite::Reuse::Kind::kMaxAge,
            .max_age = parse_duration(text.substr(kMaxAge.size()))};
  }
  throw Error(
      Error::Kind::kUser,
      fmt::format("unknown reuse policy '{}': use never, always, or max_age with a duration "
                  "such as max_age:7d",
                  text.substr(0, 64)));
}

std::string to_text(const ResolvedSuite::Reuse& policy) {
  if (policy.kind == ResolvedSuite::Reuse::Kind::kNever) {
    return "never";
  }
  if (policy.kind == ResolvedSuite::Reuse::Kind::kAlways) {
    return "always";
  }
  const double seconds = policy.max_age.count();
  for (const Unit& unit : kUnits) {
    const double count = seconds / unit.seconds;
    if (unit.seconds >= 1 && count >= 1 &&
        count == static_cast<double>(static_cast<std::int64_t>(count))) {
      return fmt::format("max_age:{}{}", static_cast<std::int64_t>(count), unit.name);
    }
  }
  return fmt::format("max_age:{}s", seconds);
}

namespace {

constexpr std::int64_t kMaximumOccurrences = 1'000'000'000;

}  // namespace

std::vector<SuiteSpec::ShapesRow> read_shapes(const std::filesystem::path& file) {
  const toml::table table = parse_toml_file(file, "shapes file");
  std::vector<SuiteSpec::ShapesRow> rows;
  TomlSection top(file, table, "a shapes file");
  top.each("layers", [&](TomlSection& section) {
    SuiteSpec::ShapesRow row{.line = section.line(), .key = {}, .count = 1};
    const auto key = section.text("key", [&row](const std::string& text) {
      row.key = model::to_key(model::parse_key({text}));
    });
    if (!key) {
      section.fail("[[layers]] needs a 'key'");
    }
    row.count = section.integer("count", 1, kMaximumOccurrences).value_or(1);
    rows.push_back(std::move(row));
  });
  top.finish();
  return rows;
}

namespace {

constexpr std::int64_t kMaximumVersion = 1'000'000'000;
constexpr std::array<std::string_view, 3> kCaches{"none", "weights", "all"};

std::optional<std::vector<loadgen::ScenarioName>> read_scenarios(TomlSection& section) {
  std::array<std::string_view, loadgen::kScenarioNames.size()> words;
  std::transform(loadgen::kScenarioNames.begin(),
                 loadgen::kScenarioNames.end(),
                 words.begin(),
                 [](loadgen::ScenarioName scenario) { return to_text(scenario); });
  const std::optional<std::vector<std::string>> chosen = section.choices("scenario", words);
  if (!chosen) {
    return std::nullopt;
  }
  std::vector<loadgen::ScenarioName> scenarios;
  for (const std::string& word : *chosen) {
    scenarios.push_back(loadgen::parse_scenario_name(word).value());
  }
  return scenarios;
}

void read_lists(TomlSection& section, SuiteSpec::Defaults& lists) {
  lists.batch = section.integers("batch", 1, kMaxBatch);
  lists.dtype = section.choices("dtype", kSuiteDtypes);
  lists.training = section.texts("training", check_training);
  lists.loss = section.text("loss", check_loss);
  lists.freeze = section.texts("freeze", check_frozen);
  lists.scenario = read_scenarios(section);
}

std::optional<Seconds> read_duration(TomlSection& section, std::string_view key) {
  std::optional<Seconds> duration;
  static_cast<void>(
      section.text(key, [&](const std::string& text) { duration = parse_duration(text); }));
  return duration;
}

Scenario::Limits read_limits(TomlSection& section) {
  return {.percentile = section.real("percentile", 0, 100),
          .latency = read_duration(section, "latency"),
          .first_token = read_duration(section, "first_token"),
          .per_token = read_duration(section, "per_token")};
}

Scenario::Settings read_settings(TomlSection& section) {
  constexpr std::int64_t kMaxLoadBatch = 1 << 20;
  constexpr std::int64_t kMaxLanes = 1024;
  Scenario::Settings settings{.duration = read_duration(section, "duration"),
                              .minimum_duration = read_duration(section, "minimum_duration"),
                              .target_rate = section.real("target_rate", 0, 1e9),
                              .maximum_batch = section.integer("maximum_batch", 1, kMaxLoadBatch),
                              .batch_timeout = read_duration(section, "batch_timeout"),
                              .lanes = section.integer("lanes", 1, kMaxLanes)};
  if (settings.duration && settings.minimum_duration) {
    section.fail("'duration' and 'minimum_duration' exclude each other: give one of them");
  }
  return settings;
}

/// Reads the shapes that alternate. They say the batch and every extent.
void read_alternation(TomlSection& section, SuiteSpec::ModelEntry& model) {
  if (auto shapes = section.integer_lists("shapes", 1, kMaxExtent)) {
    model.shapes = *std::move(shapes);
  }
  const auto orders = section.choices("shape_order", kShapeOrders);
  if (orders && (model.shapes.empty() || orders->size() > 1)) {
    section.fail("'shape_order' in [[model]] is one word, beside the 'shapes' that it orders");
  }
  if (model.shapes.empty()) {
    return;
  }
  model.shape_order = orders ? orders->front() : model.shape_order;
  if (model.shapes.size() < 2 || model.shapes.size() > kMaxShapes) {
    section.fail(
        fmt::format("'shapes' in [[model]] lists {}: give 2 to {} of them, which alternate",
                    model.shapes.size(),
                    kMaxShapes));
  }
  for (const std::vector<std::int64_t>& shape : model.shapes) {
    if (shape.size() != model.shapes.front().size()) {
      section.fail("'shapes' in [[model]] are of one input: each has as many extents");
    }
    if (shape.front() > kMaxBatch) {
      section.fail(fmt::format(
          "'shapes' in [[model]] has a batch of {}; it is at most {}", shape.front(), kMaxBatch));
    }
  }
  if (model.overrides.batch || !model.dims.empty()) {
    section.fail(
        "'shapes' in [[model]] say the batch and every extent: leave out 'batch' and "
        "'dim'");
  }
}

SuiteSpec::ModelEntry read_model_entry(TomlSection& section) {
  SuiteSpec::ModelEntry model;
  model.line = section.line();
  model.name = section.text("name");
  if (const auto path = section.text("path")) {
    model.path = *path;
  }
  if (model.name.has_value() == model.path.has_value()) {
    section.fail("[[model]] needs either a 'name' of the zoo or the 'path' of an .onnx file");
  }
  read_lists(section, model.overrides);
  model.note = section.text("note");
  model.rebatch = section.flag("rebatch").value_or(false);
  for (const loadgen::ScenarioName scenario : loadgen::kScenarioNames) {
    const std::string_view name = to_text(scenario);
    section.one(name, fmt::format("[model.{}]", name), [&](TomlSection& table) {
      model.limits.emplace(scenario, read_limits(table));
      model.settings.emplace(scenario, read_settings(table));
    });
  }
  section.entries("dim", [&](const std::string& name, const toml::node& node) {
    model.dims[name] = section.read_ranges("dim." + name, node, kMaxExtent);
  });
  read_alternation(section, model);
  if (model.rebatch && (!model.path || (!model.overrides.batch && model.shapes.empty()))) {
    section.fail("'rebatch' in [[model]] needs a 'path' and the 'batch' to rewrite it to");
  }
  return model;
}

results::Exclusion read_exclusion(TomlSection& section) {
  const auto needed = [&](std::string_view key) {
    const auto text = section.text(key);
    if (!text || text->empty()) {
      section.fail(fmt::format("[[exclude]] needs '{}': case, reason and expires", key));
    }
    return *text;
  };
  results::Exclusion exclusion;
  exclusion.match = needed("case");
  exclusion.reason = needed("reason");
  exclusion.who = section.text("who").value_or("");
  exclusion.until = needed("expires");
  if (!results::is_day(exclusion.until)) {
    section.fail(fmt::format("'expires' is not a date such as \"2027-01-31\": '{}'",
                             exclusion.until.substr(0, 64)));
  }
  return exclusion;
}

}  // namespace

void check_training(const std::string& text) {
  if (text != kNoTraining && !rewrite::parse_step_choice(text)) {
    throw Error(Error::Kind::kUser,
                fmt::format("unknown training '{}'; use {}, or {}",
                            text.substr(0, 64),
                            kNoTraining,
                            rewrite::step_choice_words()));
  }
}

void check_loss(const std::string& text) {
  if (!rewrite::parse_loss(text)) {
    throw Error(Error::Kind::kUser,
                fmt::format("unknown loss '{}'; use {}",
                            text.substr(0, 64),
                            fmt::join(rewrite::loss_names(), ", ")));
  }
}

void check_frozen(const std::string& text) {
  if (!rewrite::is_frozen_pattern(text)) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' cannot name frozen weights: use letters, digits, _ . : / -, '*' "
                            "for any characters, or {}",
                            text.substr(0, 64),
                            rewrite::kBatchNorms));
  }
}

SuiteSpec read_suite(const std::filesystem::path& file) {
  const toml::table table = parse_toml_file(file, "suite");
  SuiteSpec spec;
  spec.file = file;
  spec.name = path_text(file.stem());
  TomlSection top(file, table, "a suite");
  top.one("suite", "[suite]", [&](TomlSection& section) {
    spec.name = section.text("name").value_or(spec.name);
    spec.version = section.integer("version", 1, kMaximumVersion).value_or(1);
    spec.reuse = section.text("reuse", [](const std::string& text) { (void)parse_reuse(text); });
    spec.budget =
        section.text("budget", [](const std::string& text) { (void)parse_duration(text); });
  });
  top.one("defaults", "[defaults]", [&](TomlSection& section) {
    read_lists(section, spec.defaults);
    spec.defaults.cache = section.choices("cache", kCaches);
  });
  top.each("model",
           [&](TomlSection& section) { spec.models.push_back(read_model_entry(section)); });
  top.each("layers", [&](TomlSection& section) {
    const auto shapes = section.text("file");
    if (!shapes) {
      section.fail("[[layers]] needs the 'file' that lists them");
    }
    spec.layers.push_back({.line = section.line(), .file = *shapes});
  });
  top.each("exclude",
           [&](TomlSection& section) { spec.exclusions.push_back(read_exclusion(section)); });
  top.finish();
  if (spec.models.empty() && spec.layers.empty()) {
    top.fail("the suite is empty: add a [[model]] or [[layers]]");
  }
  return spec;
}

namespace {

constexpr const char* kStandardStep = "x2";
constexpr std::size_t kMaxText = 4096;

/// Parses "128", "128..1024" or "128..1024:x2". Empty if it is none, or the wrong way round.
std::optional<ExtentRange> parse_range(std::string_view text, std::int64_t maximum) {
  constexpr std::string_view kDots = "..";
  const std::size_t dots = text.find(kDots);
  const std::string_view first = text.substr(0, dots);
  std::string_view last = first;
  std::string step = kStandardStep;
  if (dots != std::string_view::npos) {
    last = text.substr(dots + kDots.size());
    const std::size_t colon = last.find(':');
    if (colon != std::string_view::npos) {
      step = last.substr(colon + 1);
      last = last.substr(0, colon);
    }
  }
  const std::optional<std::int64_t> from = parse_number<std::int64_t>(first);
  const std::optional<std::int64_t> to = parse_number<std::int64_t>(last);
  if (!from || !to || *from < 1 || *to < *from || *to > maximum) {
    return std::nullopt;
  }
  return ExtentRange{.from = *from, .to = *to, .step = std::move(step)};
}

/// Parses ranges as a suite writes them.
std::vector<ExtentRange> parse_toml_ranges(std::string_view text,
                                           const std::string& name,
                                           std::int64_t maximum) {
  if (text.find_first_of("\r\n") != std::string_view::npos) {
    throw Error(Error::Kind::kUser, fmt::format("{}: give its value on one line", name));
  }
  const bool list = text.starts_with('[');
  try {
    const toml::table table =
        toml::parse(fmt::format("value = {}{}{}", list ? "" : "[", text, list ? "" : "]"));
    const std::filesystem::path place = name;  // messages begin with it, as with a suite's file
    return TomlSection(place, table, name).read_ranges(name, *table.get("value"), maximum);
  } catch (const toml::parse_error& problem) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("{}: '{}' is not a range such as {{from = 128, to = 1024, step = \"x2\"}}: {}",
                    name,
                    text,
                    problem.description()));
  }
}

}  // namespace

std::vector<ExtentRange> parse_ranges(std::string_view text,
                                      const std::string& name,
                                      std::int64_t maximum) {
  if (text.size() <= kMaxText && text.find_first_of("{[") != std::string_view::npos) {
    return parse_toml_ranges(text, name, maximum);
  }
  std::vector<ExtentRange> ranges;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    std::optional<ExtentRange> range = parse_range(word, maximum);
    if (!range) {
      throw Error(Error::Kind::kUser,
                  fmt::format("{}: '{}' is neither a whole number from 1 to {} nor a range of "
                              "them: write, for example, 1,8 or 128..1024 or 128..1024:+64",
                              name,
                              word,
                              maximum));
    }
    ranges.push_back(*std::move(range));
    if (comma == std::string_view::npos) {
      return ranges;
    }
    text.remove_prefix(comma + 1);
  }
}

}  // namespace plumb::suite
