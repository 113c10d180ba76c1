// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/timestamp.hpp"
#include "harness/base/units.hpp"

namespace plumb::store {

/// One prepared statement. Parameters and columns are used in order:
/// `statement.bind(run).bind(text); while (statement.step()) { use(statement.integer(), …); }`
class Statement {
 public:
  Statement() = default;
  virtual ~Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  Statement(Statement&&) = delete;
  Statement& operator=(Statement&&) = delete;

  /// Binds the next parameter. Texts and blobs are not copied: keep them until the next reset.
  virtual Statement& bind(std::int64_t value) = 0;
  virtual Statement& bind(double value) = 0;
  virtual Statement& bind(std::string_view text) = 0;
  virtual Statement& bind_bytes(std::string_view bytes) = 0;
  virtual Statement& bind_null() = 0;
  Statement& bind(Timestamp time) { return bind(micros(time)); }
  Statement& bind(Seconds time) { return bind(time.count()); }
  Statement& bind_flag(bool flag) { return bind(std::int64_t{flag ? 1 : 0}); }
  /// Binds bytes. None are bound as null.
  Statement& bind_blob(std::string_view bytes) {
    return bytes.empty() ? bind_null() : bind_bytes(bytes);
  }
  Statement& bind(const char*) = delete;
  template <typename Value>
  Statement& bind(const std::optional<Value>& value) {
    return value ? bind(*value) : bind_null();
  }

  /// Advances to the next row. False: there is none, and the statement is reset for its next use.
  virtual bool step() = 0;
  /// Runs a statement whose rows are of no interest, and resets it. A database may report its
  /// failure only at the next step or at the commit.
  virtual void run() {
    while (step()) {
    }
  }
  /// Resets the statement, so that it can be bound and run again.
  virtual void reset() noexcept = 0;

  /// Returns the next column of the current row. An absent one is 0 or empty.
  [[nodiscard]] virtual std::int64_t integer() = 0;
  [[nodiscard]] virtual double number() = 0;
  /// Returns a view of the next column, valid until the next step.
  [[nodiscard]] virtual std::string_view text_view() = 0;
  [[nodiscard]] virtual std::string_view blob_view() = 0;
  [[nodiscard]] std::string text() { return std::string(text_view()); }
  [[nodiscard]] bool flag() { return integer() != 0; }
  [[nodiscard]] Seconds seconds() { return Seconds(number()); }
  [[nodiscard]] Timestamp time() { return Timestamp(std::chrono::microseconds(integer())); }
  [[nodiscard]] std::optional<std::int64_t> optional_integer() {
    return skip_null() ? std::nullopt : std::optional(integer());
  }
  [[nodiscard]] std::optional<double> optional_number() {
    return skip_null() ? std::nullopt : std::optional(number());
  }
  [[nodiscard]] std::optional<Seconds> optional_seconds() {
    return skip_null() ? std::nullopt : std::optional(seconds());
  }
  [[nodiscard]] std::optional<Timestamp> optional_time() {
    return skip_null() ? std::nullopt : std::optional(time());
  }

 private:
  static std::int64_t micros(Timestamp time) { return time.time_since_epoch().count(); }
  /// Skips the next column if it is null. Returns whether it was.
  [[nodiscard]] virtual bool skip_null() = 0;
};

}  // namespace plumb::store
