// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/store/store.hpp"
#include "tests/support/postgresql_schema.hpp"
#include "tests/support/result_rows.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::test {

/// Kind of store that has to keep the contract: where to make a fresh one in a folder.
struct StoreKind {
  std::string name;
  std::string (*url)(const std::filesystem::path& folder);
};

inline void PrintTo(const StoreKind& kind, std::ostream* out) {
  *out << kind.name;
}

/// Fixture of every contract suite over stores.
class StoreContract : public testing::TestWithParam<StoreKind> {
 protected:
  [[nodiscard]] std::unique_ptr<store::Store> open(const std::string& name = "store") const {
    std::filesystem::create_directories(folder_.path() / name);
    return store::open_store(GetParam().url(folder_.path() / name));
  }
  /// Returns what a call says when it fails, and checks whose move it is.
  template <typename Call>
  static std::string error_of(Error::Kind kind, Call&& call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
  }
  static constexpr const char* kFirst = "01J00000000000000000000001";
  static constexpr const char* kSecond = "01J00000000000000000000002";
  static constexpr const char* kThird = "01K00000000000000000000003";

  TemporaryFolder folder_;
};

/// Returns all kinds of stores that can be made here: those of a server only if one was started for
/// the tests (tests/support/postgresql_server.py).
inline std::vector<StoreKind> store_kinds() {
  std::vector<StoreKind> kinds{{"sqlite", [](const std::filesystem::path& folder) {
                                  return "sqlite:" + (folder / "store.db").string();
                                }}};
  if (has_postgresql_server()) {
    kinds.push_back({"postgresql", &postgresql_url});
  }
  return kinds;
}

}  // namespace plumb::test
