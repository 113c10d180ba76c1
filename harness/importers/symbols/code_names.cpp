// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/symbols/code_names.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/importers/symbols/elf_symbols.hpp"
#include "harness/importers/symbols/jit_dump.hpp"

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

std::filesystem::path debug_file(const std::string& build_id) {
  return fmt::format(
      "/usr/lib/debug/.build-id/{}/{}.debug", build_id.substr(0, 2), build_id.substr(2));
}

/// Symbols of the files of a profile, each read once.
class SymbolFiles {
 public:
  explicit SymbolFiles(std::vector<std::string>& problems) : problems_(problems) {}

  /// Returns the symbols of a mapping's file. Null: there are none.
  const ElfSymbols* symbols_of(const results::CodeMapping& mapping) {
    if (mapping.path.empty() || mapping.path.front() != '/') {
      return nullptr;
    }
    const auto [place, added] = files_.try_emplace(mapping.path);
    if (added) {
      place->second = read(mapping);
    }
    return place->second ? &*place->second : nullptr;
  }

 private:
  std::optional<ElfSymbols> read(const results::CodeMapping& mapping) {
    try {
      ElfSymbols symbols{std::filesystem::path(mapping.path)};
      if (!mapping.build_id.empty() && symbols.build_id() != mapping.build_id) {
        problems_.push_back(fmt::format("'{}' has changed since it was profiled", mapping.path));
        return std::nullopt;
      }
      const std::filesystem::path more =
          debug_file(mapping.build_id.size() > 2 ? mapping.build_id : "none");
      if (!symbols.is_complete() && std::filesystem::is_regular_file(more)) {
        return ElfSymbols(more);
      }
      return symbols;
    } catch (const Error& error) {
      problems_.emplace_back(error.what());
      return std::nullopt;
    }
  }

  std::vector<std::string>& problems_;
  std::map<std::string, std::optional<ElfSymbols>> files_;
};

std::vector<NamedCode> read_dumps(const std::vector<std::filesystem::path>& dumps,
                                  std::vector<std::string>& problems) {
  std::vector<NamedCode> functions;
  for (const std::filesystem::path& file : dumps) {
    try {
      std::ifstream in(file, std::ios::binary);
      std::ostringstream bytes;
      bytes << in.rdbuf();
      JitDump dump = read_jit_dump(bytes.view());
      std::move(dump.functions.begin(), dump.functions.end(), std::back_inserter(functions));
    } catch (const Error& error) {
      problems.push_back(fmt::format("'{}': {}", file.string(), error.what()));
    }
  }
  std::sort(functions.begin(), functions.end(), [](const auto& left, const auto& right) {
    return left.begin < right.begin;
  });
  return functions;
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

results::ProfiledFunction name_address(std::uint64_t address,
                                       const results::SampledProfile& profile,
                                       const std::vector<NamedCode>& generated,
                                       SymbolFiles& files) {
  if (const NamedCode* const code = find_range(generated, address)) {
    return {code->name, results::kGeneratedImage};
  }
  const results::CodeMapping* const mapping = find_range(profile.mappings, address);
  if (mapping == nullptr) {
    return {"", "unmapped"};
  }
  results::ProfiledFunction function{"", image_of(*mapping), mapping->build_id};
  if (const ElfSymbols* const symbols = files.symbols_of(*mapping)) {
    const auto loaded = symbols->loaded_address(address - mapping->begin + mapping->offset);
    if (const NamedCode* const code = loaded ? symbols->find(*loaded) : nullptr) {
      function.name = demangled(code->name);
    }
  }
  return function;
}

}  // namespace

results::CodeNames read_code_names(const results::SampledProfile& profile,
                                   const std::vector<std::filesystem::path>& dumps) {
  results::CodeNames names;
  std::vector<std::uint64_t> addresses;
  addresses.reserve(profile.samples.size());
  for (const results::AddressSample& sample : profile.samples) {
    addresses.push_back(sample.address);
  }
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  const std::vector<NamedCode> generated = read_dumps(dumps, names.problems);
  SymbolFiles files(names.problems);
  std::map<results::ProfiledFunction, std::uint32_t> numbers;
  for (const std::uint64_t address : addresses) {
    const auto [place, added] =
        numbers.try_emplace(name_address(address, profile, generated, files),
                            static_cast<std::uint32_t>(names.functions.size()));
    if (added) {
      names.functions.push_back(place->first);
    }
    names.addresses.emplace_back(address, place->second);
  }
  if (dumps.empty() && numbers.contains({"", results::kGeneratedImage})) {
    names.problems.emplace_back("the library wrote no names of the code that it made at run time");
  }
  return names;
}

}  // namespace plumb::importers
