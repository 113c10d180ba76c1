// SPDX-License-Identifier: Apache-2.0
#include "harness/stacks/stack_probe.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gelf.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/results/labels/variant_id.hpp"

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

namespace {

constexpr int kMaxDeaths = 5;

}  // namespace

StackInquiry::StackInquiry(worker::WorkerProcess::Options options) : options_(std::move(options)) {
  start();
}

results::EngineChoices StackInquiry::ask(const worker::WorkerService::PreviewRequest& request) {
  if (!worker_) {
    start();
  }
  try {
    results::EngineChoices choices = worker_->preview(request);
    deaths_ = 0;
    return choices;
  } catch (const worker::WorkerDied& death) {
    worker_.reset();
    if (++deaths_ == kMaxDeaths) {
      throw Error(Error::Kind::kEnvironment,
                  fmt::format("the worker of stack '{}' died {} times in a row: {}",
                              options_.stack.name,
                              deaths_,
                              death.outcome().reason));
    }
    return {request.key, death.outcome(), {}};
  }
}

void StackInquiry::start() {
  worker_.emplace(options_);
  environment_ = worker_->describe();
}

namespace {

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using OwnedElf = std::unique_ptr<Elf, ElfEnd>;

bool is_exported(const GElf_Sym& symbol) {
  const int binding = GELF_ST_BIND(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && (binding == STB_GLOBAL || binding == STB_WEAK);
}

/// Returns a file's table of dynamic symbols. Throws Error{kUser} without one.
Elf_Scn* find_dynamic_symbols(Elf* elf, GElf_Shdr& header) {
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    if (gelf_getshdr(section, &header) != nullptr && header.sh_type == SHT_DYNSYM) {
      return section;
    }
  }
  throw Error(Error::Kind::kUser, "it has no dynamic symbols");
}

std::vector<std::string> read_symbols(Elf* elf) {
  GElf_Shdr header{};
  Elf_Scn* const section = find_dynamic_symbols(elf, header);
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (data == nullptr) {
    throw Error(Error::Kind::kUser, elf_errmsg(-1));
  }
  std::vector<std::string> result;
  GElf_Sym symbol{};
  for (int i = 0; gelf_getsym(data, i, &symbol) != nullptr; ++i) {
    const char* const name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name == nullptr) {
      throw Error(Error::Kind::kUser, "a symbol's name lies outside its table");
    }
    if (is_exported(symbol)) {
      result.emplace_back(name);
    }
  }
  return result;
}

// Fields of a message: "create:dispatch", kind, engine, kind, implementation, propagation, memory,
// attributes, auxiliary, problem, reason (which may contain commas), place in the source.
constexpr std::ptrdiff_t kImplementation = 4;
constexpr std::ptrdiff_t kReason = 10;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

analysis::StackDifference::Contents::Library read_contents(
    const analysis::StackReport::Library& library) {
  return {.name = library.name,
          .version = library.version,
          .path = library.path,
          .sha256 = library.sha256.empty() ? sha256_of_file(library.path) : library.sha256,
          .size = Bytes{static_cast<std::int64_t>(fs::file_size(library.path))},
          .symbols = exported_symbols(library.path)};
}

/// Returns whether a stack is about this library. It is about the libraries that it names and their
/// sub-libraries ("libcudnn_ops"), or about all if it names none. So the forty files of a C library
/// do not count.
bool is_measured(const worker::Stack& stack, const std::string& name) {
  return stack.libraries.empty() ||
         std::any_of(stack.libraries.begin(), stack.libraries.end(), [&](const fs::path& library) {
           const std::string file = library.filename().string();
           return name.rfind(file.substr(0, file.find(".so")), 0) == 0;
         });
}

/// Adds the libraries in the stack's folders that no worker has mapped yet. Sub-libraries load
/// late.
void add_unmapped(const worker::Stack& stack,
                  std::vector<analysis::StackReport::Library>& libraries) {
  std::set<std::string> known;
  for (const analysis::StackReport::Library& library : libraries) {
    known.insert(library.name);
  }
  for (const fs::path& folder : stack.folders) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      const std::string file = entry.path().filename().string();
      const std::size_t suffix = file.find(".so");
      const std::string name = file.substr(0, suffix);
      if (suffix != std::string::npos && name.rfind("lib", 0) == 0 && entry.is_regular_file() &&
          is_measured(stack, name) && known.insert(name).second) {
        libraries.push_back({name, "", fs::canonical(entry.path()).string(), ""});
      }
    }
  }
}

/// Finds why a stack passed over variants that it does not have for a layer, by implementation. A
/// worker of its own is started for that. Empty for backends other than oneDNN.
std::map<std::string, std::string> reasons_against(const std::vector<std::string>& variants,
                                                   const model::LayerKey& key,
                                                   worker::WorkerProcess::Options options) {
  std::map<std::string, std::string> result;
  if (variants.empty() || options.stack.backend != "onednn") {
    return result;
  }
  options.stack.variables["ONEDNN_VERBOSE"] = "dispatch";
  worker::WorkerProcess worker(options);
  (void)worker.variants(key);
  const std::map<std::string, std::string> reasons = dispatch_reasons(worker.log_tail());
  for (const std::string& variant : variants) {
    const std::string implementation(results::VariantId(variant).implementation());
    if (const auto found = reasons.find(implementation); found != reasons.end()) {
      result.insert(*found);
    }
  }
  return result;
}

}  // namespace

std::vector<std::string> exported_symbols(const std::filesystem::path& library) {
  elf_version(EV_CURRENT);
  const FileDescriptor file(::open(library.c_str(), O_RDONLY | O_CLOEXEC));
  const OwnedElf elf(elf_begin(file.number(), ELF_C_READ, nullptr));
  std::vector<std::string> result;
  try {
    if (elf == nullptr || elf_kind(elf.get()) != ELF_K_ELF) {
      throw Error(Error::Kind::kUser, "it is not an ELF library");
    }
    result = read_symbols(elf.get());
  } catch (const Error& error) {
    throw Error(Error::Kind::kUser,
                fmt::format("cannot read the symbols of '{}': {}", library.string(), error.what()));
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::map<std::string, std::string> dispatch_reasons(std::string_view log) {
  std::map<std::string, std::vector<std::string>> reasons;
  for (const std::string_view line : split(log, '\n')) {
    const std::vector<std::string_view> fields = split(line, ',');
    const auto begin = std::find(fields.begin(), fields.end(), "create:dispatch");
    if (fields.front() != "onednn_verbose" || fields.end() - begin <= kReason + 1) {
      continue;
    }
    const std::string implementation(begin[kImplementation]);
    const std::string reason =
        fmt::format("{}", fmt::join(begin + kReason, std::prev(fields.end()), ","));
    if (reason == "bad algorithm") {
      continue;  // a worker tries every algorithm, and this implementation has another
    }
    std::vector<std::string>& known = reasons[implementation];
    if (std::find(known.begin(), known.end(), reason) == known.end()) {
      known.push_back(reason);
    }
  }
  std::map<std::string, std::string> result;
  for (const auto& [implementation, texts] : reasons) {
    result[implementation] = fmt::format("{}", fmt::join(texts, "; "));
  }
  return result;
}

analysis::StackDifference::Contents stack_contents(const worker::WorkerProcess::Options& options,
                                                   std::span<const model::LayerKey> keys,
                                                   const std::string& device) {
  worker::WorkerProcess worker(options);
  analysis::StackReport report = probe_worker(worker, options.stack);
  add_unmapped(options.stack, report.libraries);
  analysis::StackDifference::Contents contents;
  contents.name = options.stack.name;
  for (const analysis::StackReport::Library& library : report.libraries) {
    contents.libraries.push_back(read_contents(library));
  }
  if (!device.empty()) {
    StackInquiry inquiry(options);
    for (const model::LayerKey& key : keys) {
      contents.choices.push_back(inquiry.ask({key, device}));
    }
    return contents;
  }
  for (const model::LayerKey& key : keys) {
    analysis::StackDifference::Contents::LayerOffers& offers = contents.layers.emplace_back();
    offers.key = key;
    const std::vector<worker::Variant> variants = worker.variants(key);
    for (const worker::Variant& variant : variants) {
      offers.variants.push_back(variant.text);
    }
    offers.reference_only =
        !variants.empty() &&
        std::all_of(variants.begin(), variants.end(), [](const worker::Variant& variant) {
          return variant.reference_implementation;
        });
  }
  return contents;
}

void explain_choices(const worker::WorkerProcess::Options& from,
                     const worker::WorkerProcess::Options& to,
                     std::size_t most,
                     analysis::StackDifference& difference) {
  for (analysis::StackDifference::Layer& layer :
       std::span(difference.layers).first(std::min(most, difference.layers.size()))) {
    layer.passed_over_by_from = reasons_against(layer.added, layer.key, from);
    layer.passed_over_by_to = reasons_against(layer.removed, layer.key, to);
  }
}

}  // namespace plumb::stacks
