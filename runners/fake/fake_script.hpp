// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/results/attributes.hpp"
#include "harness/results/environment.hpp"
#include "harness/results/outcome.hpp"
#include "harness/results/run.hpp"

namespace plumb::fake {

/// Rule for the rows whose key and variant match. The first rule that matches wins.
struct Rule {
  /// Actions taken before the row is emitted.
  enum class Action {
    kNone,
    kCrash,        ///< abort()
    kExit,         ///< leaves with status 3
    kHang,         ///< answers never again
    kFlood,        ///< writes 16 MiB to stdout, then goes on
    kOutOfMemory,  ///< throws std::bad_alloc
    kFail,         ///< throws Error{kInternal}
  };

  std::string match = "*";  ///< of the key's text; '*' stands for any characters
  std::string variant =
      "*";  ///< of the variant's text; a rule for every variant ("*") answers once for the key
  Outcome outcome{};
  Action action = Action::kNone;
  std::optional<Seconds> time{};  ///< instead of the computed one
  Seconds delay{};                ///< really waits this long
  std::string log{};              ///< is written to stderr
  std::string output{};           ///< of other bits than those of another text
  std::optional<double> error{};  ///< the maximum error, instead of 0
  Attributes attributes{};
  Readings readings{};
  Attributes profiled{};  ///< attributes that only a worker that profiles sees
  Readings counted{};     ///< readings that only a worker that counts sees
};

/// Script of a fake worker (`docs/reference/fake-backend.md` describes the file).
struct Script {
  Environment environment;  ///< what describe() says
  Calibration calibration;
  std::vector<Rule> rules;
  double slowness = 1.0;  ///< of the machine, which scales every time: PLUMB_FAKE_SLOWNESS

  /// Finds the first rule for a key and variant; null if there is none.
  [[nodiscard]] const Rule* rule_for(std::string_view key, std::string_view variant) const;
};

/// Returns what a worker without a script does: every key works, no rule.
[[nodiscard]] Script default_script();

/// Reads a script in TOML. Throws Error{kUser} naming the line that is wrong.
[[nodiscard]] Script read_script(const std::filesystem::path& path);

}  // namespace plumb::fake
