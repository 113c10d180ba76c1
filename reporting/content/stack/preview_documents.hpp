// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

#include "harness/analysis/library/engine_preview.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// Preview of an upgrade with the inputs that it was made for.
struct PreviewReport {
  /// One of the two library versions.
  struct Side {
    std::string stack;
    results::Environment environment;  ///< as its worker described itself
  };
  std::string suite;
  std::string gpu;      ///< as the driver calls it
  std::string profile;  ///< file of the GPU's properties
  std::string dtype;
  Side from;
  Side to;
  analysis::EnginePreview preview;
};

/// Writes the output of `plumb preview`.
void write_preview(const PreviewReport& report, OutputMode style, std::ostream& out);

}  // namespace plumb::reporting
