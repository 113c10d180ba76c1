// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/results/measurement.hpp"
#include "harness/results/run.hpp"

namespace plumb::fake {

/// Noise of measured processes, which scripted ones play back.
///
/// The nth process that measures something takes the nth factor of a file, round and round. A
/// second file counts the processes. So pairs of processes differ as the recorded pairs did.
class RecordedNoise {
 public:
  /// `factors` has a number a line, and comments after '#'. `counter` is made where it is absent.
  RecordedNoise(std::filesystem::path factors, std::filesystem::path counter);

  /// Returns the factor of this process, the same for each call. Throws Error{kUser} for a file
  /// that has no factors, Error{kEnvironment} for a counter that cannot be written.
  [[nodiscard]] double factor() const;

 private:
  std::filesystem::path factors_;
  std::filesystem::path counter_;
  mutable std::optional<double> factor_;  // taken when the first time is computed
};

/// Script of a fake worker. docs/reference/fake-backend.md describes the file.
struct Script {
  /// Rule for the rows whose key and variant match. The first rule that matches wins.
  struct Rule {
    /// Actions taken before the row is emitted.
    enum class Action {
      kNone,
      kCrash,        ///< abort()
      kExit,         ///< leaves with status 3
      kStop,         ///< stops itself (SIGSTOP), as from outside
      kHang,         ///< never answers again
      kFlood,        ///< writes 16 MiB to stdout, then goes on
      kOutOfMemory,  ///< throws std::bad_alloc
      kFail,         ///< throws Error{kInternal}
    };

    std::string match = "*";  ///< the key's text; '*' matches any characters
    std::string variant =
        "*";  ///< the variant's text; "*" with an outcome without a time refuses the whole key
    results::Outcome outcome{};
    Action action = Action::kNone;
    std::filesystem::path once{};   ///< made by the first worker that acts; then no other does
    std::optional<Seconds> time{};  ///< instead of the computed time
    Seconds delay{};                ///< for which the worker really waits
    std::filesystem::path hold{};   ///< a file: while it exists, the worker waits
    std::string log{};              ///< text that is written to stderr
    std::string output{};           ///< text that decides the output's bits
    std::optional<double> error{};  ///< the maximum error, instead of 0
    results::Attributes attributes{};
    results::Readings readings{};
    bool disturbed = false;          ///< marks the row as measured on a disturbed host
    Bytes memory{};                  ///< of a model's execution
    results::Attributes profiled{};  ///< attributes that only a worker that profiles sees
    results::Readings counted{};     ///< readings that only a worker that counts sees
  };

  results::Environment environment;  ///< the answer of describe()
  results::Calibration calibration;
  std::vector<Rule> rules;
  std::vector<std::string> variants{
      "algorithm=direct", "algorithm=gemm", "algorithm=winograd"};  ///< of each key, the choice of
                                                                    ///< the library first
  double slowness = 1.0;                 ///< factor of every time (PLUMB_FAKE_SLOWNESS)
  std::optional<RecordedNoise> noise{};  ///< factors of the processes' times; absent: none

  /// Finds the first rule for a key and variant; null if there is none.
  [[nodiscard]] const Rule* rule_for(std::string_view key, std::string_view variant) const;
};

/// Returns the script of a worker without one: every key works, and there is no rule.
[[nodiscard]] Script default_script();

/// Reads a script in TOML. Throws Error{kUser} naming the line that is wrong.
[[nodiscard]] Script read_script(const std::filesystem::path& path);

}  // namespace plumb::fake
