// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/symbols/code_listing.hpp"

#include <capstone/capstone.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::importers {
namespace {

constexpr std::size_t kSuggested = 5;

/// Samples by address and block.
using Counts = std::map<std::uint64_t, results::BlockCounts>;

/// Code that has samples: one function, or all of an image that has no name there.
struct SampledCode {
  FoundCode code;
  Counts counts;
  std::map<std::uint32_t, std::uint64_t> steps;  // samples by step
  std::uint64_t samples = 0;

  /// Returns the samples by block of the code from an address up to another one.
  [[nodiscard]] results::BlockCounts count_between(std::uint64_t begin, std::uint64_t end) const {
    results::BlockCounts sum;
    for (auto each = counts.lower_bound(begin); each != counts.end() && each->first < end; ++each) {
      results::append_blocks(each->second, 0, sum);
    }
    results::order_blocks(sum);
    return sum;
  }
  [[nodiscard]] bool has_name() const { return !code.function.name.empty(); }
};

/// Lists the code that has samples, that with most first.
std::vector<SampledCode> find_sampled_code(const results::SampledProfile& profile,
                                           CodeFinder& finder) {
  struct Place {
    results::BlockCounts counts;
    std::map<std::uint32_t, std::uint64_t> steps;
  };
  std::map<std::uint64_t, Place> places;
  for (const results::AddressSample& sample : profile.samples) {
    Place& place = places[sample.address];
    results::add_samples(sample.block, 1, place.counts);
    ++place.steps[sample.step];
  }
  std::map<std::pair<results::ProfiledFunction, std::uint64_t>, SampledCode> by_code;
  for (auto& [address, place] : places) {
    FoundCode code = finder.find(address);
    SampledCode& sampled = by_code[{code.function, code.begin}];
    results::order_blocks(place.counts);
    sampled.counts[address] = std::move(place.counts);
    for (const auto& [step, count] : place.steps) {
      sampled.steps[step] += count;
      sampled.samples += count;
    }
    sampled.code = std::move(code);
  }
  std::vector<SampledCode> all;
  all.reserve(by_code.size());
  for (auto& [place, sampled] : by_code) {
    all.push_back(std::move(sampled));
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& left, const auto& right) {
    return left.samples > right.samples;
  });
  return all;
}

[[noreturn]] void fail_to_find(const std::string& function, const std::vector<SampledCode>& all) {
  std::vector<std::string> names;
  for (const SampledCode& sampled : all) {
    const std::string& name = sampled.code.function.name;
    if (names.size() < kSuggested && !name.empty() &&
        std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  throw Error(Error::Kind::kUser,
              names.empty()
                  ? std::string("no sample is of a function with a name, so none is listed")
                  : fmt::format("no sample is of a function '{}': name one of the hottest, "
                                "'{}'",
                                function,
                                fmt::join(names, "', '")));
}

/// Reads the bytes of a function, up to the limit. Throws Error{kUser} if no file has them.
std::string read_code(const FoundCode& code) {
  if (code.file.empty()) {
    throw Error(Error::Kind::kUser, code.problem);
  }
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

/// Returns what is known of code without its instructions.
results::CodeListing describe_code(const SampledCode& sampled,
                                   const std::vector<SampledCode>& all,
                                   const results::SampledProfile& profile,
                                   const std::vector<std::string>& step_names) {
  results::CodeListing listing;
  listing.function = sampled.code.function;
  listing.samples = sampled.samples;
  listing.counts = sampled.count_between(0, std::numeric_limits<std::uint64_t>::max());
  listing.of_profile = profile.samples.size();
  listing.exact = profile.exact;
  listing.alike =
      static_cast<std::size_t>(std::count_if(all.begin(),
                                             all.end(),
                                             [&](const SampledCode& other) {
                                               return other.code.function == sampled.code.function;
                                             }) -
                               1);
  const auto step = std::max_element(
      sampled.steps.begin(), sampled.steps.end(), [](const auto& left, const auto& right) {
        return left.second < right.second;
      });
  if (step->first < step_names.size()) {
    listing.step = step_names[step->first];
  }
  return listing;
}

/// Adds the instructions. Throws as read_code().
void disassemble_code(const SampledCode& sampled, results::CodeListing& listing) {
  const FoundCode& code = sampled.code;
  listing.bytes = code.end - code.begin;
  const std::string bytes = read_code(code);
  listing.bytes_listed = bytes.size();
  Disassembler().disassemble(bytes, code.begin, [&](const cs_insn& instruction) {
    results::BlockCounts counts =
        sampled.count_between(instruction.address, instruction.address + instruction.size);
    const std::uint64_t samples = results::count_samples(counts);
    listing.instructions.push_back({instruction.address - code.begin,
                                    instruction.size,
                                    text_of(instruction),
                                    samples,
                                    std::move(counts)});
  });
  listing.disassembled = listing.instructions.size();
}

}  // namespace

results::CodeListing list_code(const results::SampledProfile& profile,
                               const std::vector<std::filesystem::path>& dumps,
                               const std::vector<std::string>& step_names,
                               const std::string& function) {
  CodeFinder finder(profile.mappings, dumps);
  const std::vector<SampledCode> all = find_sampled_code(profile, finder);
  const auto found = std::find_if(all.begin(), all.end(), [&](const SampledCode& sampled) {
    return sampled.has_name() && (function.empty() || sampled.code.function.name == function);
  });
  if (found == all.end()) {
    fail_to_find(function, all);
  }
  results::CodeListing listing = describe_code(*found, all, profile, step_names);
  disassemble_code(*found, listing);
  return listing;
}

std::vector<results::CodeListing> list_hottest_code(const results::SampledProfile& profile,
                                                    CodeFinder& finder,
                                                    const std::vector<std::string>& step_names) {
  const std::vector<SampledCode> all = find_sampled_code(profile, finder);
  std::vector<results::CodeListing> listings;
  for (const SampledCode& sampled : all) {
    const bool listed = std::any_of(listings.begin(), listings.end(), [&](const auto& each) {
      return each.function == sampled.code.function;
    });
    if (listed || listings.size() == results::kMaxListings) {
      continue;
    }
    results::CodeListing& listing =
        listings.emplace_back(describe_code(sampled, all, profile, step_names));
    listing.problem = sampled.code.problem;
    if (sampled.has_name()) {
      try {
        disassemble_code(sampled, listing);
      } catch (const Error& error) {
        listing.problem = error.what();
      }
    }
  }
  return listings;
}

}  // namespace plumb::importers
