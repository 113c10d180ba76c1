// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace plumb::cli {

/// Makes every option of a program and of its commands refuse an empty value, and every number one
/// that is not finite. Call it when the program has all its commands.
void check_values(CLI::App& program);

/// Refuses `--NAME=` without a value, which CLI11 takes for `--NAME` and the next word. Throws
/// CLI::ValidationError.
void refuse_empty_values(CLI::App& program, std::span<char* const> arguments);

/// Returns the check of a number that must be above 0.
[[nodiscard]] CLI::Validator positive_number();

/// Adds --device, which names one of several GPUs by its number or its identifier.
CLI::Option* add_device_option(CLI::App& command, std::string& device);

}  // namespace plumb::cli
