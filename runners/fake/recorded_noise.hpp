// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

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

}  // namespace plumb::fake
