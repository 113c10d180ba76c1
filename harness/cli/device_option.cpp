// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/device_option.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "harness/worker/protocol/worker_setup.hpp"

namespace plumb::cli {
namespace {

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

CLI::Option* add_device_option(CLI::App& command, std::string& device) {
  return command
      .add_option("--device",
                  device,
                  "the GPU to measure on: its number as the driver counts, or its identifier "
                  "(GPU-…) or the beginning of that; default: the first")
      ->check([](const std::string& text) { return refuse_device(text); })
      ->type_name("NUMBER|GPU-…");
}

}  // namespace plumb::cli
