// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/store/tables/connection.hpp"

namespace plumb::store {

/// Transaction that is rolled back at the end of its scope unless committed.
class Transaction {
 public:
  /// Begins a transaction. Throws Error{kTryAgain} if another process keeps the lock, and
  /// Error{kEnvironment} for a write to a read-only store.
  Transaction(Connection& connection, TransactionKind kind) : connection_(connection), kind_(kind) {
    connection.begin(kind);
  }
  ~Transaction() {
    if (open_) {
      connection_.rollback();
    }
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Transaction(Transaction&&) = delete;
  Transaction& operator=(Transaction&&) = delete;

  /// Commits. Throws Error{kEnvironment} if what was written is nowhere.
  void commit() {
    connection_.commit(kind_);
    open_ = false;
  }

 private:
  Connection& connection_;
  TransactionKind kind_;
  bool open_ = true;
};

}  // namespace plumb::store
