// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/plan/executor.hpp"

namespace plumb {

/// Shows progress on stderr: one line that rewrites itself on a terminal, a plain line every ten
/// seconds when not.
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
