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

}  // namespace plumb::cli
