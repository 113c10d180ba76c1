// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

namespace plumb::cuda {

/// Shared library, loaded by name and kept until the process ends.
class DynamicLibrary {
 public:
  /// Loads the first of the names that the loader finds. Throws Error{kEnvironment} with the
  /// loader's message for the last of them, then `what_to_do`.
  DynamicLibrary(std::span<const std::string> names, const std::string& what_to_do);

  /// Finds an entry point by name. Throws Error{kEnvironment} if the library has none.
  template <typename Function>
  void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(symbol(name));
  }

  /// Finds an entry point that the library may lack. Null: it does.
  template <typename Function>
  void find_if_there(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(symbol_or_null(name));
  }

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  [[nodiscard]] void* symbol_or_null(const char* name) const;
  [[nodiscard]] void* symbol(const char* name) const;

  std::string name_;
  std::string what_to_do_;
  void* handle_ = nullptr;
};

}  // namespace plumb::cuda
