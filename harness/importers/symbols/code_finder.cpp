// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/symbols/code_finder.hpp"

#include <capstone/capstone.h>
#include <cxxabi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <system_error>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::importers {
namespace {

struct Free {
  void operator()(char* text) const { std::free(text); }
};

/// Returns a name of C++ as it is written in the source.
std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, Free> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status));
  return text == nullptr ? name : std::string(text.get(), ::strnlen(text.get(), kMaxCodeName));
}

std::string image_of(const results::SampledProfile::Mapping& mapping) {
  if (mapping.path.empty() || mapping.path.starts_with("//anon")) {
    return results::kGeneratedImage;
  }
  return mapping.path.front() == '[' ? mapping.path
                                     : std::filesystem::path(mapping.path).filename().string();
}

/// Finds the part of a sorted list that holds an address. Null: none does.
template <typename Range>
const Range* find_range(const std::vector<Range>& ranges, std::uint64_t address) {
  const auto after = std::upper_bound(
      ranges.begin(), ranges.end(), address, [](std::uint64_t value, const Range& each) {
        return value < each.begin;
      });
  return after == ranges.begin() || address >= std::prev(after)->end ? nullptr : &*std::prev(after);
}

}  // namespace

CodeFinder::CodeFinder(const std::vector<results::SampledProfile::Mapping>& mappings,
                       const std::vector<std::filesystem::path>& dumps,
                       std::filesystem::path debug_files)
    : mappings_(mappings), dumps_(dumps), debug_files_(std::move(debug_files)) {
  for (std::size_t i = 0; i < dumps_.size(); ++i) {
    try {
      read_dump(i);
    } catch (const Error& error) {
      problems_.push_back(fmt::format("'{}': {}", dumps_[i].string(), error.what()));
    }
  }
  std::sort(generated_.begin(), generated_.end(), [](const auto& left, const auto& right) {
    return left.begin < right.begin;
  });
}

void CodeFinder::read_dump(std::size_t number) {
  std::ifstream in(dumps_[number], std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  if (dumps_[number].extension() == ".map") {
    mapped_ = read_perf_map(bytes.view());
    return;
  }
  for (CodeFinder::JitDump::Function& function : read_jit_dump(bytes.view()).functions) {
    generated_.push_back(
        {function.begin, function.end, std::move(function.name), number, function.offset});
  }
}

CodeFinder::Found CodeFinder::find(std::uint64_t address) {
  if (const DumpedCode* const code = find_range(generated_, address)) {
    return {{code->name, results::kGeneratedImage},
            code->begin,
            code->end,
            dumps_[code->dump],
            code->offset,
            {}};
  }
  const results::SampledProfile::Mapping* const mapping = find_range(mappings_, address);
  CodeFinder::Found found;
  found.function.image = mapping == nullptr ? results::kUnmappedImage : image_of(*mapping);
  if (mapping == nullptr || found.function.image == results::kGeneratedImage) {
    if (const NamedCode* const code = find_range(mapped_, address)) {
      found.function = {code->name, results::kGeneratedImage};
      found.begin = code->begin;
      found.end = code->end;
      found.problem = "a perf map names this code, but does not hold it";
      return found;
    }
  }
  if (mapping == nullptr) {
    found.problem = "no code was mapped there any more when the profile ended";
    return found;
  }
  found.function.build_id = mapping->build_id;
  if (found.function.image == results::kGeneratedImage) {
    found.problem = has_dumps() ? "the library's dump does not hold this code"
                                : "the library kept no dump of the code that it made";
    return found;
  }
  const FileSymbols& file = symbols_of(*mapping);
  found.problem = file.problem;
  if (!file.symbols) {
    return found;
  }
  const std::uint64_t offset = address - mapping->begin + mapping->offset;
  const auto loaded = file.symbols->loaded_address(offset);
  if (const NamedCode* const code = loaded ? file.symbols->find(*loaded) : nullptr) {
    found.function.name = demangled(code->name);
    found.problem.clear();
    found.begin = address - (*loaded - code->begin);
    found.end = found.begin + (code->end - code->begin);
    found.file = mapping->path;
    found.offset = offset - (*loaded - code->begin);
  } else if (found.problem.empty()) {
    found.problem = fmt::format("'{}' has no symbol there", mapping->path);
  }
  return found;
}

const CodeFinder::FileSymbols& CodeFinder::symbols_of(
    const results::SampledProfile::Mapping& mapping) {
  const auto [place, added] = files_.try_emplace(mapping.path);
  if (added && mapping.path.front() != '/') {
    place->second.problem = fmt::format("{} is no file", mapping.path);
  } else if (added) {
    place->second = read_symbols(mapping);
    if (!place->second.problem.empty()) {
      problems_.push_back(place->second.problem);
    }
  }
  return place->second;
}

CodeFinder::FileSymbols CodeFinder::read_symbols(
    const results::SampledProfile::Mapping& mapping) const {
  try {
    ElfSymbols symbols{std::filesystem::path(mapping.path)};
    if (!mapping.build_id.empty() && symbols.build_id() != mapping.build_id) {
      return {std::nullopt, fmt::format("'{}' has changed since it was profiled", mapping.path)};
    }
    std::string problem;
    try {
      add_debug_file(symbols);
    } catch (const Error& error) {
      problem = error.what();  // the file's own symbols are still there
    }
    return {std::move(symbols), std::move(problem)};
  } catch (const Error& error) {
    return {std::nullopt, error.what()};
  }
}

void CodeFinder::add_debug_file(ElfSymbols& symbols) const {
  const std::string id = symbols.build_id();
  if (symbols.is_complete() || id.size() <= 2) {
    return;
  }
  const std::filesystem::path file =
      debug_files_ / id.substr(0, 2) / fmt::format("{}.debug", id.substr(2));
  std::error_code unreadable;
  if (std::filesystem::is_regular_file(file, unreadable)) {
    ElfSymbols debug(file);
    if (debug.build_id() == id && debug.is_complete()) {
      symbols.take_functions(std::move(debug));
    }
  }
}

results::NamedProfile::CodeNames read_code_names(const results::SampledProfile& profile,
                                                 const std::vector<std::filesystem::path>& dumps) {
  CodeFinder finder(profile.mappings, dumps);
  return read_code_names(profile, finder);
}

results::NamedProfile::CodeNames read_code_names(const results::SampledProfile& profile,
                                                 CodeFinder& finder) {
  results::NamedProfile::CodeNames names;
  std::vector<std::uint64_t> addresses;
  addresses.reserve(profile.samples.size());
  for (const results::SampledProfile::Sample& sample : profile.samples) {
    addresses.push_back(sample.address);
  }
  for (const results::CallChain& chain : profile.chains) {
    for (const std::uint64_t address : chain) {
      addresses.push_back(address - 1);  // a call may be the last instruction of its function
    }
  }
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  std::map<results::NamedProfile::CodeNames::Function, std::uint32_t> numbers;
  for (const std::uint64_t address : addresses) {
    const auto [place, added] = numbers.try_emplace(
        finder.find(address).function, static_cast<std::uint32_t>(names.functions.size()));
    if (added) {
      names.functions.push_back(place->first);
    }
    names.addresses.emplace_back(address, place->second);
  }
  names.problems = finder.problems();
  if (!finder.has_dumps() && numbers.contains({"", results::kGeneratedImage})) {
    names.problems.emplace_back("the library wrote no names of the code that it made at run time");
  }
  return names;
}

namespace {

constexpr std::size_t kSuggested = 5;

/// Samples by address and block.
using Counts = std::map<std::uint64_t, results::BlockCounts>;

/// Code that has samples: one function, or all of an image that has no name there.
struct SampledCode {
  CodeFinder::Found code;
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
  for (const results::SampledProfile::Sample& sample : profile.samples) {
    Place& place = places[sample.address];
    results::add_samples(sample.block, 1, place.counts);
    ++place.steps[sample.step];
  }
  std::map<std::pair<results::NamedProfile::CodeNames::Function, std::uint64_t>, SampledCode>
      by_code;
  for (auto& [address, place] : places) {
    CodeFinder::Found code = finder.find(address);
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
std::string read_code(const CodeFinder::Found& code) {
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
results::NamedProfile::Listing describe_code(const SampledCode& sampled,
                                             const std::vector<SampledCode>& all,
                                             const results::SampledProfile& profile,
                                             const std::vector<std::string>& step_names) {
  results::NamedProfile::Listing listing;
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
void disassemble_code(const SampledCode& sampled, results::NamedProfile::Listing& listing) {
  const CodeFinder::Found& code = sampled.code;
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

results::NamedProfile::Listing list_code(const results::SampledProfile& profile,
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
  results::NamedProfile::Listing listing = describe_code(*found, all, profile, step_names);
  disassemble_code(*found, listing);
  return listing;
}

std::vector<results::NamedProfile::Listing> list_hottest_code(
    const results::SampledProfile& profile,
    CodeFinder& finder,
    const std::vector<std::string>& step_names) {
  const std::vector<SampledCode> all = find_sampled_code(profile, finder);
  std::vector<results::NamedProfile::Listing> listings;
  for (const SampledCode& sampled : all) {
    const bool listed = std::any_of(listings.begin(), listings.end(), [&](const auto& each) {
      return each.function == sampled.code.function;
    });
    if (listed || listings.size() == results::kMaxListings) {
      continue;
    }
    results::NamedProfile::Listing& listing =
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
