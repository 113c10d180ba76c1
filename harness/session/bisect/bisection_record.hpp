// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/analysis/report/bisection.hpp"

namespace plumb::session {

/// File that keeps the steps of an unfinished search, so that it can be continued.
class BisectionRecord {
 public:
  /// `question` is everything that decides what a step would find.
  BisectionRecord(std::filesystem::path folder, const std::string& question);

  /// Returns the steps kept so far. None: there is no such search, or its file is damaged.
  [[nodiscard]] std::vector<analysis::BisectionStep> read() const;
  /// Replaces the steps by those of a search. Throws Error{kEnvironment} if it cannot be written.
  void write(const analysis::Bisection& bisection) const;
  /// Removes the file: the search has ended.
  void remove() const;

 private:
  std::filesystem::path folder_;
  std::filesystem::path file_;
};

}  // namespace plumb::session
