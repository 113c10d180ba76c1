// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/session/executor.hpp"

namespace plumb {

/// Display of progress on stderr. On a terminal it is one line that rewrites itself, otherwise a
/// plain line every ten seconds.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ProgressLine(ProgressLine&&) = delete;
  ProgressLine& operator=(ProgressLine&&) = delete;

  void show(const Progress& progress);

 private:
  bool terminal_;
  bool drawn_ = false;
  Seconds last_{-1e9};
};

}  // namespace plumb
