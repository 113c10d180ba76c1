// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace plumb::analysis {

/// Stack as it was found: by its file, or by a worker that ran with it.
struct StackReport {
  /// One library file of a stack.
  struct Library {
    std::string name;     ///< file name without what follows ".so": "libdnnl"
    std::string version;  ///< as the library says; empty: unknown
    std::string path;
    std::string sha256;  ///< empty: not read
  };

  std::string name;
  std::string backend;
  std::vector<Library> libraries;
  std::string device;                 ///< empty: the CPU
  std::vector<std::string> problems;  ///< none: the stack is sound
};

}  // namespace plumb::analysis
