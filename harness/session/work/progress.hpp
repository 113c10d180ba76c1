// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "harness/base/units.hpp"

namespace plumb::session {

/// Progress of a measurement.
struct Progress {
  std::size_t done = 0;
  std::size_t total = 0;
  std::string unit = "layers";  ///< what is counted
  std::string current;          ///< what is measured now, short
  Seconds elapsed{};
  std::optional<Seconds> left;  ///< absent until it can be estimated
};

/// Display of the progress of a session. For one thread.
class ProgressDisplay {
 public:
  ProgressDisplay() = default;
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;
  ProgressDisplay(ProgressDisplay&&) = delete;
  ProgressDisplay& operator=(ProgressDisplay&&) = delete;
  virtual ~ProgressDisplay() = default;

  virtual void show(const Progress& progress) = 0;
  /// Ends what was shown: other output may follow.
  virtual void end() = 0;
};

/// One stage of a session on the display, from its construction to its end.
class ProgressStage {
 public:
  explicit ProgressStage(ProgressDisplay& display) : display_(display) {}
  ProgressStage(const ProgressStage&) = delete;
  ProgressStage& operator=(const ProgressStage&) = delete;
  ProgressStage(ProgressStage&&) = delete;
  ProgressStage& operator=(ProgressStage&&) = delete;
  ~ProgressStage() { display_.end(); }

  void show(const Progress& progress) { display_.show(progress); }

 private:
  ProgressDisplay& display_;
};

}  // namespace plumb::session
