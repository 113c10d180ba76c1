// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/symbols/code_finder.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <system_error>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/importers/symbols/code_map.hpp"

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

std::string image_of(const results::CodeMapping& mapping) {
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

CodeFinder::CodeFinder(const std::vector<results::CodeMapping>& mappings,
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
  for (DumpedFunction& function : read_jit_dump(bytes.view()).functions) {
    generated_.push_back(
        {function.begin, function.end, std::move(function.name), number, function.offset});
  }
}

FoundCode CodeFinder::find(std::uint64_t address) {
  if (const DumpedCode* const code = find_range(generated_, address)) {
    return {{code->name, results::kGeneratedImage},
            code->begin,
            code->end,
            dumps_[code->dump],
            code->offset,
            {}};
  }
  const results::CodeMapping* const mapping = find_range(mappings_, address);
  FoundCode found;
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

const CodeFinder::FileSymbols& CodeFinder::symbols_of(const results::CodeMapping& mapping) {
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

CodeFinder::FileSymbols CodeFinder::read_symbols(const results::CodeMapping& mapping) const {
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

results::CodeNames read_code_names(const results::SampledProfile& profile,
                                   const std::vector<std::filesystem::path>& dumps) {
  CodeFinder finder(profile.mappings, dumps);
  return read_code_names(profile, finder);
}

results::CodeNames read_code_names(const results::SampledProfile& profile, CodeFinder& finder) {
  results::CodeNames names;
  std::vector<std::uint64_t> addresses;
  addresses.reserve(profile.samples.size());
  for (const results::AddressSample& sample : profile.samples) {
    addresses.push_back(sample.address);
  }
  for (const results::CallChain& chain : profile.chains) {
    for (const std::uint64_t address : chain) {
      addresses.push_back(address - 1);  // a call may be the last instruction of its function
    }
  }
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  std::map<results::ProfiledFunction, std::uint32_t> numbers;
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

}  // namespace plumb::importers
