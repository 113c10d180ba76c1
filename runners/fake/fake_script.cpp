// SPDX-License-Identifier: Apache-2.0
#include "runners/fake/fake_script.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/base/name_match.hpp"

namespace plumb::fake {
namespace {

std::vector<double> read_factors(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<double> factors;
  for (std::string line; std::getline(in, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      continue;
    }
    const double factor = std::strtod(line.c_str(), nullptr);
    if (!(factor > 0.0 && factor < 1e6)) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}' has the line '{}', which is no factor", file.string(), line));
    }
    factors.push_back(factor);
  }
  if (factors.empty()) {
    throw Error(Error::Kind::kUser, fmt::format("'{}' has no factors of noise", file.string()));
  }
  return factors;
}

/// Returns the number in a counter file, and leaves the next one there.
std::uint64_t count_up(const std::filesystem::path& file) {
  const FileDescriptor counter(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  std::array<char, 32> text{};
  if (counter.number() < 0 || ::flock(counter.number(), LOCK_EX) != 0 ||
      ::pread(counter.number(), text.data(), text.size() - 1, 0) < 0) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot count in '{}': {}", file.string(), std::strerror(errno)));
  }
  const std::uint64_t number = std::strtoull(text.data(), nullptr, 10);
  const std::string next = std::to_string(number + 1) + "\n";
  if (::pwrite(counter.number(), next.data(), next.size(), 0) !=
      static_cast<ssize_t>(next.size())) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot count in '{}': {}", file.string(), std::strerror(errno)));
  }
  return number;
}

}  // namespace

Script::Noise::Noise(std::filesystem::path factors, std::filesystem::path counter)
    : factors_(std::move(factors)), counter_(std::move(counter)) {}

double Script::Noise::factor() const {
  if (!factor_) {
    const std::vector<double> factors = read_factors(factors_);
    factor_ = factors[count_up(counter_) % factors.size()];
  }
  return *factor_;
}

namespace {

constexpr std::array<std::pair<std::string_view, Script::Rule::Action>, 8> kActions{{
    {"none", Script::Rule::Action::kNone},
    {"crash", Script::Rule::Action::kCrash},
    {"exit", Script::Rule::Action::kExit},
    {"stop", Script::Rule::Action::kStop},
    {"hang", Script::Rule::Action::kHang},
    {"flood", Script::Rule::Action::kFlood},
    {"out_of_memory", Script::Rule::Action::kOutOfMemory},
    {"fail", Script::Rule::Action::kFail},
}};

/// Reader of one script file, whose messages name the file and the line.
class ScriptReader {
 public:
  explicit ScriptReader(const std::filesystem::path& path) : path_(path) {}

  Script read() {
    try {
      const toml::table table = toml::parse_file(path_.string());
      for (const auto& [key, node] : table) {
        read_section(key.str(), node);
      }
    } catch (const toml::parse_error& problem) {
      fail(problem.source(), std::string(problem.description()));
    }
    return std::move(script_);
  }

 private:
  [[noreturn]] void fail(const toml::source_region& where, const std::string& text) const {
    throw Error(Error::Kind::kUser,
                fmt::format("{}:{}: {}", path_.string(), where.begin.line, text));
  }

  template <typename Value>
  Value value(std::string_view key, const toml::node& node) const {
    const auto found = node.value<Value>();
    if (!found) {
      fail(node.source(), fmt::format("'{}' has a value of the wrong type", key));
    }
    return *found;
  }

  const toml::table& table(std::string_view key, const toml::node& node) const {
    const toml::table* found = node.as_table();
    if (found == nullptr) {
      fail(node.source(), fmt::format("'{}' must be a table", key));
    }
    return *found;
  }

  void read_section(std::string_view key, const toml::node& node) {
    if (key == "identity") {
      read_facts(table(key, node), script_.environment.identity);
    } else if (key == "facts") {
      read_facts(table(key, node), script_.environment.facts);
    } else if (key == "calibration") {
      read_calibration(table(key, node));
    } else if (key == "noise") {
      read_noise(table(key, node));
    } else if (key == "variants") {
      read_variants(node);
    } else if (key == "rule" && node.is_array_of_tables()) {
      for (const toml::node& entry : *node.as_array()) {
        script_.rules.push_back(read_rule(*entry.as_table()));
      }
    } else {
      fail(node.source(),
           fmt::format("'{}' is not one of identity, facts, calibration, noise, variants, [[rule]]",
                       key));
    }
  }

  void read_facts(const toml::table& entries, results::Facts& facts) const {
    for (const auto& [key, node] : entries) {
      facts[std::string(key.str())] = value<std::string>(key.str(), node);
    }
  }

  void read_variants(const toml::node& node) {
    const toml::array* const list = node.as_array();
    if (list == nullptr || list->empty()) {
      fail(node.source(), "'variants' must be a list of texts");
    }
    script_.variants.clear();
    for (const toml::node& entry : *list) {
      script_.variants.push_back(value<std::string>("variants", entry));
    }
  }

  void read_noise(const toml::table& entries) {
    std::filesystem::path factors;
    std::filesystem::path counter;
    for (const auto& [key, node] : entries) {
      if (key != "factors" && key != "counter") {
        fail(node.source(), fmt::format("unknown key '{}' of [noise]", key.str()));
      }
      (key == "factors" ? factors : counter) = value<std::string>(key.str(), node);
    }
    if (factors.empty() || counter.empty()) {
      fail(entries.source(), "[noise] needs the files 'factors' and 'counter'");
    }
    script_.noise.emplace(std::move(factors), std::move(counter));
  }

  void read_calibration(const toml::table& entries) {
    results::Calibration& calibration = script_.calibration;
    for (const auto& [key, node] : entries) {
      const auto number = value<double>(key.str(), node);
      if (key == "peak_f32_flops_per_second") {
        calibration.peak_f32 = {number};
      } else if (key == "peak_bf16_flops_per_second") {
        calibration.peak_bf16 = {number};
      } else if (key == "peak_f16_flops_per_second") {
        calibration.peak_f16 = FlopsPerSecond{number};
      } else if (key == "peak_tf32_flops_per_second") {
        calibration.peak_tf32 = FlopsPerSecond{number};
      } else if (key == "peak_int8_operations_per_second") {
        calibration.peak_int8 = FlopsPerSecond{number};
      } else if (key == "memory_bytes_per_second") {
        calibration.memory_bandwidth = {number};
      } else if (key == "last_level_cache_bytes") {
        calibration.last_level_cache = {value<std::int64_t>(key.str(), node)};
      } else if (key == "floor_seconds") {
        calibration.floor = Seconds(number);
      } else {
        fail(node.source(), fmt::format("unknown key '{}' of [calibration]", key.str()));
      }
    }
  }

  Script::Rule read_rule(const toml::table& entries) const {
    Script::Rule rule;
    for (const auto& [key, node] : entries) {
      if (key == "match") {
        rule.match = value<std::string>(key.str(), node);
      } else if (key == "variant") {
        rule.variant = value<std::string>(key.str(), node);
      } else if (key == "reason") {
        rule.outcome.reason = value<std::string>(key.str(), node);
      } else if (key == "log") {
        rule.log = value<std::string>(key.str(), node);
      } else if (key == "seconds") {
        rule.time = Seconds(value<double>(key.str(), node));
      } else if (key == "delay_seconds") {
        rule.delay = Seconds(value<double>(key.str(), node));
      } else if (key == "hold") {
        rule.hold = value<std::string>(key.str(), node);
      } else if (key == "output") {
        rule.output = value<std::string>(key.str(), node);
      } else if (key == "maximum_error") {
        rule.error = value<double>(key.str(), node);
      } else if (key == "attributes") {
        read_facts(table(key, node), rule.attributes);
      } else if (key == "profiled") {
        read_facts(table(key, node), rule.profiled);
      } else if (key == "readings") {
        rule.readings = read_readings(table(key, node));
      } else if (key == "disturbed") {
        rule.disturbed = value<bool>(key.str(), node);
      } else if (key == "memory_bytes") {
        rule.memory = {value<std::int64_t>(key.str(), node)};
      } else if (key == "counted") {
        rule.counted = read_readings(table(key, node));
      } else if (key == "outcome") {
        rule.outcome.kind = read_outcome(node);
      } else if (key == "action") {
        rule.action = read_action(node);
      } else if (key == "once") {
        rule.once = value<std::string>(key.str(), node);
      } else {
        fail(node.source(), fmt::format("unknown key '{}' of a rule", key.str()));
      }
    }
    return rule;
  }

  results::Readings read_readings(const toml::table& entries) const {
    results::Readings readings;
    for (const auto& [key, node] : entries) {
      std::vector<double> values;
      if (const toml::array* const list = node.as_array()) {
        for (const toml::node& one : *list) {
          values.push_back(value<double>(key.str(), one));
        }
      }
      const std::optional<results::Reading> reading = results::summarize_reading(values);
      if (!reading) {
        fail(node.source(), fmt::format("the reading '{}' is not a list of numbers", key.str()));
      }
      readings.emplace(key.str(), *reading);
    }
    return readings;
  }

  results::Outcome::Kind read_outcome(const toml::node& node) const {
    const auto name = value<std::string>("outcome", node);
    const std::optional<results::Outcome::Kind> kind = results::parse_outcome_kind(name);
    if (!kind) {
      fail(node.source(), fmt::format("'{}' is not an outcome", name));
    }
    return *kind;
  }

  Script::Rule::Action read_action(const toml::node& node) const {
    const auto name = value<std::string>("action", node);
    for (const auto& [text, action] : kActions) {
      if (text == name) {
        return action;
      }
    }
    fail(node.source(),
         fmt::format("'{}' is not one of none, crash, exit, stop, hang, flood, out_of_memory, fail",
                     name));
  }

  std::filesystem::path path_;
  Script script_ = default_script();
};

}  // namespace

const Script::Rule* Script::rule_for(std::string_view key, std::string_view variant) const {
  for (const Script::Rule& rule : rules) {
    if (matches_pattern(rule.match, key) && matches_pattern(rule.variant, variant)) {
      return &rule;
    }
  }
  return nullptr;
}

Script default_script() {
  Script script;
  script.environment.identity = {
      {"backend", "fake"}, {"device", "no device"}, {"library", "fake 1.0"}};
  script.environment.facts = {{"library.path", "none"}};
  script.calibration.peak_f32 = {1e11};
  script.calibration.peak_bf16 = {2e11};
  script.calibration.memory_bandwidth = {2e10};
  script.calibration.last_level_cache = {std::int64_t{32} << 20};
  script.calibration.floor = Seconds(1e-7);
  script.calibration.timer_tick = Seconds(1e-9);
  return script;
}

Script read_script(const std::filesystem::path& path) {
  return ScriptReader(path).read();
}

}  // namespace plumb::fake
