// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace plumb::session {

/// Description of a GPU that need not be present (docs/guides/preview-an-upgrade.md).
struct GpuProfile {
  std::string name;        ///< as the driver calls it
  std::string properties;  ///< JSON, as cuDNN takes it
  std::string file;
};

/// Reads a GPU profile by path, or by name ("H200") if it comes with the program. The JSON file has
/// the properties as cuDNN writes them on a real GPU, alone or under `properties`. Throws
/// Error{kUser} with the names of all profiles, or with what is missing or wrong in the file.
[[nodiscard]] GpuProfile read_gpu_profile(const std::string& name);

}  // namespace plumb::session
