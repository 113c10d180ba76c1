// SPDX-License-Identifier: Apache-2.0
#include "harness/stacks/stack_probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"

namespace plumb::stacks {
namespace {

namespace fs = std::filesystem;

/// Returns a library's name without what follows ".so": "libdnnl" of "libdnnl.so.3.2".
std::string name_of(const fs::path& library) {
  const std::string file = library.filename().string();
  return file.substr(0, file.find(".so"));
}

bool is_below(const fs::path& path, const fs::path& folder) {
  const auto [end, ignored] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

/// Returns whether the stack names a mapped file or has it in its folders.
bool belongs_to(const worker::Stack& stack, const fs::path& path) {
  const auto is_named = [&](const fs::path& library) {
    return fs::weakly_canonical(library) == path;
  };
  const auto holds = [&](const fs::path& folder) {
    return is_below(path, fs::weakly_canonical(folder));
  };
  return std::any_of(stack.libraries.begin(), stack.libraries.end(), is_named) ||
         std::any_of(stack.folders.begin(), stack.folders.end(), holds);
}

/// Returns the versions of what a file holds, by name, as the facts "NAME.path" and "NAME.version"
/// of a worker say. "library" is the file itself. Others are linked into it.
std::map<std::string, std::string> versions_in(const results::Facts& facts, const fs::path& file) {
  std::map<std::string, std::string> versions;
  for (const auto& [name, value] : facts) {
    constexpr std::string_view kPath = ".path";
    if (name.size() > kPath.size() && name.ends_with(kPath) && fs::path(value) == file) {
      std::string of = name.substr(0, name.size() - kPath.size());
      if (const auto version = facts.find(of + ".version"); version != facts.end()) {
        versions.emplace(std::move(of), version->second);
      }
    }
  }
  return versions;
}

}  // namespace

std::vector<MappedLibrary> mapped_libraries(int pid, const worker::Stack& stack) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  std::vector<MappedLibrary> result;
  std::set<fs::path> seen;
  std::string line;
  while (std::getline(maps, line)) {
    const std::size_t slash = line.find('/');
    if (slash == std::string::npos) {
      continue;
    }
    constexpr std::string_view kDeleted = " (deleted)";
    const bool deleted = line.ends_with(kDeleted);
    const fs::path path = line.substr(slash, line.size() - slash - (deleted ? kDeleted.size() : 0));
    if (path.filename().string().find(".so") != std::string::npos && seen.insert(path).second) {
      result.push_back({name_of(path), path, belongs_to(stack, path), deleted});
    }
  }
  return result;
}

analysis::StackReport probe_worker(worker::WorkerProcess& worker, const worker::Stack& stack) {
  const results::Environment environment = worker.describe();
  analysis::StackReport report;
  report.name = stack.name;
  report.backend = stack.backend;
  if (const auto device = environment.identity.find("device");
      device != environment.identity.end()) {
    report.device = device->second;
  }
  std::set<fs::path> named;
  for (const fs::path& library : stack.libraries) {
    named.insert(fs::canonical(library));
  }
  std::map<std::string, MappedLibrary> first;
  for (const MappedLibrary& library : mapped_libraries(worker.pid(), stack)) {
    named.erase(library.path);
    const auto [other, fresh] = first.emplace(library.name, library);
    if (!fresh && (library.of_stack || other->second.of_stack)) {
      report.problems.push_back(fmt::format("a mixture: '{}' and '{}' are both mapped",
                                            other->second.path.string(),
                                            library.path.string()));
    }
    const auto versions = versions_in(environment.facts, library.path);
    const auto own = std::find_if(versions.begin(), versions.end(), [&](const auto& each) {
      return each.first == "library" || each.first == library.name;
    });
    if (library.of_stack || !versions.empty()) {
      const std::string digest = sha256_of_file(library.path);
      report.libraries.push_back(
          {library.name, own == versions.end() ? "" : own->second, library.path.string(), digest});
      for (auto inside = versions.begin(); inside != versions.end(); ++inside) {
        if (inside != own) {
          report.libraries.push_back(
              {inside->first, inside->second, library.path.string(), digest});
        }
      }
    }
  }
  for (const fs::path& missing : named) {
    report.problems.push_back(fmt::format(
        "'{}' is named by the stack and was not mapped by the worker", missing.string()));
  }
  return report;
}

std::vector<analysis::StackReport> list_stacks(const fs::path& stacks_folder) {
  std::vector<std::string> names{"default"};
  std::error_code error;
  for (fs::directory_iterator entry(stacks_folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (fs::is_regular_file(entry->path() / "stack.toml", ignored)) {
      names.push_back(entry->path().filename().string());
    }
  }
  std::sort(names.begin() + 1, names.end());
  std::vector<analysis::StackReport> reports;
  for (const std::string& name : names) {
    analysis::StackReport report;
    report.name = name;
    try {
      const worker::Stack stack = worker::load_stack(name, stacks_folder);
      report.backend = stack.backend;
      for (const fs::path& library : stack.libraries) {
        report.libraries.push_back({name_of(library), "", library.string(), ""});
      }
    } catch (const Error& fault) {
      report.problems.emplace_back(fault.what());
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace plumb::stacks
