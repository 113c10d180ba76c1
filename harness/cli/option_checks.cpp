// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/option_checks.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/suite/suite.hpp"
#include "harness/worker/protocol/worker_setup.hpp"

namespace plumb::cli {
namespace {

constexpr const char* kEmpty =
    "the value is empty: give one, or leave the option out (is a variable not set?)";

std::vector<CLI::App*> list_commands(CLI::App& command) {
  std::vector<CLI::App*> all{&command};
  for (CLI::App* const below : command.get_subcommands([](CLI::App*) { return true; })) {
    const std::vector<CLI::App*> deeper = list_commands(*below);
    all.insert(all.end(), deeper.begin(), deeper.end());
  }
  return all;
}

/// Returns a check that an option makes before its own, so that every option says the same.
CLI::Validator not_empty() {
  return {[](std::string& value) { return value.empty() ? std::string(kEmpty) : std::string(); },
          std::string()};
}

std::string refuse_infinite(const std::string& value) {
  return std::isfinite(std::strtod(value.c_str(), nullptr))
             ? ""
             : fmt::format("'{}' is not a finite number", value);
}

/// Returns why a text is not a number or an identifier of a GPU. Empty: it is one.
std::string refuse_device(const std::string& text) {
  constexpr std::size_t kMaxDigits = 4;
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF-";
  constexpr std::string_view kBegin = "GPU-";
  const bool number =
      text.size() <= kMaxDigits && text.find_first_not_of(kDigits) == std::string::npos;
  const bool identifier = text.size() <= worker::kMaxDeviceName && text.starts_with(kBegin) &&
                          text.size() > kBegin.size() &&
                          text.find_first_not_of(kHexDigits, kBegin.size()) == std::string::npos;
  return number || identifier
             ? ""
             : fmt::format(
                   "'{:.40}' is neither the number of a GPU (0, 1 …) nor its identifier or "
                   "the beginning of it (GPU-…)",
                   text);
}

}  // namespace

void check_values(CLI::App& program) {
  for (CLI::App* const command : list_commands(program)) {
    for (CLI::Option* const option : command->get_options()) {
      if (option->get_items_expected_max() == 0) {
        continue;  // a flag
      }
      option->transform(not_empty());  // Unlike check(), it comes first.
      if (option->get_type_name().starts_with("FLOAT")) {
        option->check(refuse_infinite);
      }
    }
  }
}

void refuse_empty_values(CLI::App& program, std::span<char* const> arguments) {
  std::set<std::string, std::less<>> names;
  for (CLI::App* const command : list_commands(program)) {
    for (const CLI::Option* const option : command->get_options()) {
      names.insert(option->get_lnames().begin(), option->get_lnames().end());
    }
  }
  for (const char* const argument : arguments) {
    std::string_view name = argument;
    if (name == "--") {
      return;
    }
    if (name.starts_with("--") && name.ends_with('=')) {
      name.remove_prefix(2);
      name.remove_suffix(1);
      if (names.contains(name)) {
        throw CLI::ValidationError(fmt::format("--{}", name), kEmpty);
      }
    }
  }
}

CLI::Validator positive_number() {
  return {[](std::string& value) {
            const double number = std::strtod(value.c_str(), nullptr);
            return number > 0.0 ? "" : fmt::format("'{}' is not a number above 0", value);
          },
          "POSITIVE"};
}

CLI::Option* add_device_option(CLI::App& command, std::string& device) {
  return command
      .add_option("--device",
                  device,
                  "the GPU to measure on: its number as the driver counts, or its identifier "
                  "(GPU-…) or the beginning of that; default: the first")
      ->check([](const std::string& text) { return refuse_device(text); })
      ->type_name("NUMBER|GPU-…");
}

CLI::Option* add_stack_option(CLI::App& command, std::string& stack) {
  return command.add_option("--stack", stack, "library versions to run with")
      ->capture_default_str();
}

void add_worker_options(CLI::App& command, session::WorkerChoice& worker) {
  command.add_option("--threads", worker.threads, "threads of the worker")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  add_device_option(command, worker.device);
}

CLI::Option* add_mode_option(CLI::App& command, std::string& mode) {
  return command.add_option("--mode", mode, "how the model is executed")->capture_default_str();
}

CLI::Option* add_duration_option(CLI::App& command,
                                 const std::string& name,
                                 Seconds& duration,
                                 const std::string& initial,
                                 const std::string& help) {
  duration = suite::parse_duration(initial);
  return command
      .add_option_function<std::string>(
          name,
          [&duration](const std::string& text) { duration = suite::parse_duration(text); },
          help)
      ->default_str(initial);
}

CLI::Option* add_duration_option(CLI::App& command,
                                 const std::string& name,
                                 std::optional<Seconds>& duration,
                                 const std::string& help) {
  return command.add_option_function<std::string>(
      name, [&duration](const std::string& text) { duration = suite::parse_duration(text); }, help);
}

CLI::Option* add_row_timeout(CLI::App& command, Seconds& timeout) {
  return add_duration_option(
      command, "--row-timeout", timeout, "60s", "how long a worker may be silent");
}

results::CacheMode read_cache_option(const std::string& text) {
  const std::optional<results::CacheMode> cache = results::parse_cache_mode(text);
  if (!cache) {
    throw Error(Error::Kind::kUser,
                fmt::format("'--cache {}' is not a cache mode: use none, weights or all", text));
  }
  return *cache;
}

}  // namespace plumb::cli
