// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace plumb {

/// Describes a GPU that need not be there (docs/guides/preview-an-upgrade.md).
struct GpuProfile {
  std::string name;        ///< as the driver calls it
  std::string properties;  ///< JSON, as cuDNN takes it
  std::string file;
};

/// Reads a profile: a name that comes with the program ("H200") or a path to a JSON file, which
/// holds the properties alone, as cuDNN writes them on a real GPU, or under `properties`. Throws
/// Error{kUser} naming the profiles there are, or what is missing or wrong in the file.
[[nodiscard]] GpuProfile read_gpu_profile(const std::string& name);

}  // namespace plumb
