// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/session/work/progress.hpp"

namespace plumb::terminal {

/// Display of progress on stderr. On a terminal it is one line that rewrites itself, otherwise a
/// plain line every ten seconds.
class ProgressLine final : public session::ProgressDisplay {
 public:
  ProgressLine();

  void show(const session::Progress& progress) override;
  void end() override;

 private:
  bool terminal_;
  bool drawn_ = false;
  Seconds last_;
};

}  // namespace plumb::terminal
