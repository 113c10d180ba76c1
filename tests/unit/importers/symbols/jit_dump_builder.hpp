// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace plumb::importers {

/// Builder of a jitdump, field by field as its specification has them.
class JitDumpBuilder {
 public:
  JitDumpBuilder() {
    add<std::uint32_t>(0x4A695444);
    add<std::uint32_t>(1);   // version
    add<std::uint32_t>(40);  // bytes of the header
    add<std::uint32_t>(62);  // machine
    add<std::uint32_t>(0);
    add<std::uint32_t>(4242);  // process
    add<std::uint64_t>(7);     // time
    add<std::uint64_t>(0);     // flags
  }

  JitDumpBuilder& load(std::uint64_t address, const std::string& code, const std::string& name) {
    begin_record(0, 40 + name.size() + 1 + code.size());
    add<std::uint32_t>(4242);
    add<std::uint32_t>(4242);
    add<std::uint64_t>(address);
    add<std::uint64_t>(address);
    add<std::uint64_t>(code.size());
    add<std::uint64_t>(0);  // number
    bytes_ += name + '\0' + code;
    return *this;
  }
  JitDumpBuilder& move(std::uint64_t from, std::uint64_t to, std::uint64_t size) {
    begin_record(1, 48);
    add<std::uint32_t>(4242);
    add<std::uint32_t>(4242);
    add<std::uint64_t>(to);
    add<std::uint64_t>(from);
    add<std::uint64_t>(to);
    add<std::uint64_t>(size);
    add<std::uint64_t>(0);
    return *this;
  }
  JitDumpBuilder& other(std::uint32_t id, const std::string& content) {
    begin_record(id, content.size());
    bytes_ += content;
    return *this;
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  template <typename Number>
  void add(Number number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void begin_record(std::uint32_t id, std::size_t content) {
    add(id);
    add(static_cast<std::uint32_t>(16 + content));
    add<std::uint64_t>(8);
  }

  std::string bytes_;
};

}  // namespace plumb::importers
