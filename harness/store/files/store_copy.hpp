// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace plumb::store {

/// Copy of a store and its log in a temporary folder, which it removes at the end of its life.
class StoreCopy {
 public:
  /// Copies the files. Throws Error{kEnvironment} if there is no room, and Error{kTryAgain} if they
  /// were written meanwhile.
  explicit StoreCopy(const std::filesystem::path& store);
  ~StoreCopy();
  StoreCopy(const StoreCopy&) = delete;
  StoreCopy& operator=(const StoreCopy&) = delete;
  StoreCopy(StoreCopy&&) = delete;
  StoreCopy& operator=(StoreCopy&&) = delete;

  [[nodiscard]] std::filesystem::path path() const { return folder_ / "store.db"; }

 private:
  void copy(const std::filesystem::path& store) const;
  std::filesystem::path folder_;
};

}  // namespace plumb::store
