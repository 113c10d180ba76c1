// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

#include "harness/analyze/engine_preview.hpp"
#include "reporting/documents.hpp"

namespace plumb {

/// Is a preview of an upgrade with what it was asked of.
struct PreviewReport {
  /// Is one of the two library versions.
  struct Side {
    std::string stack;
    Environment environment;  ///< as its worker described itself
  };
  std::string suite;
  std::string gpu;      ///< as the driver calls it
  std::string profile;  ///< file of the GPU's properties
  std::string dtype;
  Side from;
  Side to;
  EnginePreview preview;
};

/// `plumb preview`
void write_preview(const PreviewReport& report, Style style, std::ostream& out);

}  // namespace plumb
