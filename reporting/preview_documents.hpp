// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

#include "harness/analyze/engine_preview.hpp"
#include "reporting/documents.hpp"

namespace plumb {

/// Preview of an upgrade with the inputs that it was made for.
struct PreviewReport {
  /// One of the two library versions.
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
