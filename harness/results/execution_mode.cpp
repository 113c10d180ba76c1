// SPDX-License-Identifier: Apache-2.0
#include "harness/results/execution_mode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/base/error.hpp"

namespace plumb::results {
namespace {

struct ModeWord {
  std::string_view word;
  bool ExecutionMode::*option;
};

constexpr std::array<ModeWord, 6> kWords{{
    {"best_variant", &ExecutionMode::best_variant},
    {"bf16", &ExecutionMode::bf16},
    {"channels_last", &ExecutionMode::channels_last},
    {"fusion", &ExecutionMode::fusion},
    {"int8", &ExecutionMode::int8},
    {"parallel_branches", &ExecutionMode::parallel_branches},
}};

constexpr std::string_view kPlain = "plain";

}  // namespace

std::string to_text(const ExecutionMode& mode) {
  std::string text;
  for (const auto& [word, option] : kWords) {
    if (mode.*option) {
      text += text.empty() ? "" : "+";
      text += word;
    }
  }
  return text.empty() ? std::string(kPlain) : text;
}

ExecutionMode execution_mode_from(std::string_view text) {
  ExecutionMode mode;
  if (text == kPlain) {
    return mode;
  }
  for (std::string_view rest = text;;) {
    const std::size_t end = rest.find('+');
    const std::string_view word = rest.substr(0, end);
    const auto* const found = std::find_if(
        kWords.begin(), kWords.end(), [&](const auto& each) { return each.word == word; });
    if (found == kWords.end() || mode.*(found->option)) {
      throw Error(
          Error::Kind::kUser,
          fmt::format("'{}' is not a mode: use plain, or best_variant, bf16, channels_last, "
                      "fusion, int8 and parallel_branches, each at most once, joined by '+'",
                      text.substr(0, 200)));
    }
    mode.*(found->option) = true;
    if (mode.best_variant && mode.channels_last) {
      throw Error(Error::Kind::kUser,
                  "best_variant and channels_last exclude each other: use one of them; "
                  "best_variant also tries variants with channels last");
    }
    if (mode.bf16 && mode.int8) {
      throw Error(Error::Kind::kUser, "bf16 and int8 exclude each other: use one of them");
    }
    if (end == std::string_view::npos) {
      return mode;
    }
    rest.remove_prefix(end + 1);
  }
}

std::vector<ExecutionMode> default_modes() {
  return {{},
          {.best_variant = true},
          {.fusion = true},
          {.best_variant = true, .fusion = true},
          {.channels_last = true},
          {.bf16 = true},
          {.fusion = true, .int8 = true},
          {.best_variant = true, .bf16 = true, .fusion = true}};
}

}  // namespace plumb::results
