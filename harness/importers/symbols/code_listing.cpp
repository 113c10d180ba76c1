// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/symbols/code_listing.hpp"

#include <capstone/capstone.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <unordered_map>

#include "harness/base/error.hpp"
#include "harness/importers/symbols/code_finder.hpp"

namespace plumb::importers {
namespace {

constexpr std::size_t kSuggested = 5;

/// Samples by address.
using Counts = std::map<std::uint64_t, std::uint64_t>;

/// Code of one function, and where its samples are.
struct SampledCode {
  FoundCode code;
  Counts counts;

  [[nodiscard]] std::uint64_t samples() const {
    return std::accumulate(
        counts.begin(), counts.end(), std::uint64_t{0}, [](auto sum, const auto& count) {
          return sum + count.second;
        });
  }
};

/// Lists the functions with a name that have samples, those with most first.
std::vector<SampledCode> find_sampled_code(const results::SampledProfile& profile,
                                           const std::vector<std::filesystem::path>& dumps) {
  std::unordered_map<std::uint64_t, std::uint64_t> counts;
  for (const results::AddressSample& sample : profile.samples) {
    ++counts[sample.address];
  }
  CodeFinder finder(profile.mappings, dumps);
  std::map<std::uint64_t, SampledCode> by_begin;
  for (const auto& [address, count] : counts) {
    FoundCode code = finder.find(address);
    if (!code.function.name.empty()) {
      const std::uint64_t begin = code.begin;
      SampledCode& sampled = by_begin[begin];
      sampled.code = std::move(code);
      sampled.counts[address] = count;
    }
  }
  std::vector<SampledCode> all;
  for (auto& [begin, sampled] : by_begin) {
    all.push_back(std::move(sampled));
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& left, const auto& right) {
    return left.samples() > right.samples();
  });
  return all;
}

[[noreturn]] void fail_to_find(const std::string& function, const std::vector<SampledCode>& all) {
  std::vector<std::string> names;
  for (const SampledCode& sampled : all) {
    const std::string& name = sampled.code.function.name;
    if (names.size() < kSuggested && std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  throw Error(Error::Kind::kUser,
              all.empty() ? std::string("no sample is of a function with a name, so none is listed")
                          : fmt::format("no sample is of a function '{}': name one of the hottest, "
                                        "'{}'",
                                        function,
                                        fmt::join(names, "', '")));
}

/// Reads the bytes of a function, up to the limit.
std::string read_code(const FoundCode& code) {
  const auto size = std::min<std::uint64_t>(code.end - code.begin, kMaxListedBytes);
  std::string bytes(size, '\0');
  std::ifstream in(code.file, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(code.offset));
  in.read(bytes.data(), static_cast<std::streamsize>(size));
  if (!in) {
    throw Error(
        Error::Kind::kUser,
        fmt::format(
            "the code of '{}' cannot be read from '{}'", code.function.name, code.file.string()));
  }
  return bytes;
}

/// Disassembler of this machine's code.
class Disassembler {
 public:
  Disassembler() {
#if defined(__x86_64__)
    const cs_err fault = ::cs_open(CS_ARCH_X86, CS_MODE_64, &handle_);
#elif defined(__aarch64__)
    const cs_err fault = ::cs_open(CS_ARCH_ARM64, CS_MODE_ARM, &handle_);
#else
#error "which code does this machine execute?"
#endif
    if (fault != CS_ERR_OK) {
      throw Error(Error::Kind::kEnvironment, ::cs_strerror(fault));
    }
    ::cs_option(handle_, CS_OPT_SKIPDATA, CS_OPT_ON);  // constants between the code
  }
  ~Disassembler() {
    ::cs_close(&handle_);
  }
  Disassembler(const Disassembler&) = delete;
  Disassembler& operator=(const Disassembler&) = delete;
  Disassembler(Disassembler&&) = delete;
  Disassembler& operator=(Disassembler&&) = delete;

  /// Calls `take` with each instruction of the bytes at an address.
  template <typename Take>
  void disassemble(const std::string& bytes, std::uint64_t address, Take&& take) const {
    const std::unique_ptr<cs_insn, FreeInstruction> instruction(::cs_malloc(handle_));
    const auto* code = reinterpret_cast<const std::uint8_t*>(bytes.data());
    std::size_t left = bytes.size();
    while (::cs_disasm_iter(handle_, &code, &left, &address, instruction.get())) {
      take(*instruction);
    }
  }

 private:
  struct FreeInstruction {
    void operator()(cs_insn* instruction) const { ::cs_free(instruction, 1); }
  };

  csh handle_ = 0;
};

std::string text_of(const cs_insn& instruction) {
  return *instruction.op_str == '\0'
             ? std::string(instruction.mnemonic)
             : fmt::format("{:<12} {}", instruction.mnemonic, instruction.op_str);
}

}  // namespace

results::CodeListing list_code(const results::SampledProfile& profile,
                               const std::vector<std::filesystem::path>& dumps,
                               const std::string& function) {
  const std::vector<SampledCode> all = find_sampled_code(profile, dumps);
  const auto has_name = [&](const SampledCode& sampled) {
    return function.empty() || sampled.code.function.name == function;
  };
  const auto found = std::find_if(all.begin(), all.end(), has_name);
  if (found == all.end()) {
    fail_to_find(function, all);
  }
  const FoundCode& code = found->code;
  results::CodeListing listing;
  listing.function = code.function;
  listing.samples = found->samples();
  listing.of_profile = profile.samples.size();
  listing.exact = profile.exact;
  listing.alike = static_cast<std::size_t>(std::count_if(
                      all.begin(),
                      all.end(),
                      [&](const auto& other) { return other.code.function == code.function; })) -
                  1;
  listing.bytes = code.end - code.begin;
  const std::string bytes = read_code(code);
  listing.bytes_listed = bytes.size();
  Disassembler().disassemble(bytes, code.begin, [&](const cs_insn& instruction) {
    const auto first = found->counts.lower_bound(instruction.address);
    const auto last = found->counts.lower_bound(instruction.address + instruction.size);
    const std::uint64_t samples =
        std::accumulate(first, last, std::uint64_t{0}, [](auto sum, const auto& count) {
          return sum + count.second;
        });
    listing.instructions.push_back(
        {instruction.address - code.begin, text_of(instruction), samples});
  });
  return listing;
}

}  // namespace plumb::importers
