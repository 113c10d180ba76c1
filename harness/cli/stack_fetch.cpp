// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/stack_fetch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <utility>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/worker/child_process.hpp"

namespace plumb {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLogLines = 12;  // of a failed installer, shown

/// Is a folder that disappears unless it is kept.
class ScratchFolder {
 public:
  explicit ScratchFolder(const fs::path& parent) {
    std::error_code error;
    fs::create_directories(parent, error);
    std::string name = (parent / ".fetch-XXXXXX").string();
    if (error || ::mkdtemp(name.data()) == nullptr) {
      throw Error(
          Error::Kind::kEnvironment,
          fmt::format("cannot make a folder in '{}': {}; check its permissions and the disk",
                      parent.string(),
                      std::strerror(errno)));
    }
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(ScratchFolder&&) = delete;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string find_python() {
  const char* const path = std::getenv("PATH");
  std::string folders = path == nullptr ? "/usr/bin:/bin" : path;
  // The distribution's first: it has venv where the package python3-venv is installed.
  folders = "/usr/bin:" + folders;
  for (std::size_t begin = 0; begin < folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    std::string candidate = folders.substr(begin, end - begin) + "/python3";
    if (::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
    begin = end + 1;
  }
  throw Error(Error::Kind::kEnvironment,
              "there is no python3, which fetches the wheels: install python3 and python3-venv");
}

std::vector<std::string> surroundings() {
  std::vector<std::string> result;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    result.emplace_back(*variable);
  }
  return result;
}

/// Runs a program to its end; returns its last lines where it failed.
std::optional<std::string> run(const std::string& program,
                               const std::vector<std::string>& arguments,
                               const std::function<void(const std::string&)>& log) {
  ChildProcess child(program, arguments, surroundings());
  const FileDescriptor output = child.take_log();
  std::vector<std::string> last;
  std::string line;
  const auto finish_line = [&] {
    log(line);
    last.push_back(std::exchange(line, {}));
    if (last.size() > kLogLines) {
      last.erase(last.begin());
    }
  };
  std::array<char, 4096> piece{};
  while (true) {
    const ssize_t got = ::read(output.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      break;
    }
    for (ssize_t i = 0; i < got; ++i) {
      if (piece[static_cast<std::size_t>(i)] == '\n') {
        finish_line();
      } else {
        line += piece[static_cast<std::size_t>(i)];
      }
    }
  }
  if (!line.empty()) {
    finish_line();
  }
  const auto status = child.wait(Seconds(10.0));
  if (status && *status == 0) {
    return std::nullopt;
  }
  return fmt::format("{}", fmt::join(last, "\n  "));
}

void must(const std::optional<std::string>& failure, Error::Kind kind, const std::string& what) {
  if (failure) {
    throw Error(kind, what + ":\n  " + *failure);
  }
}

std::string stack_name(const FetchRequest& request) {
  const std::regex package_pattern("[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9.!+_-]*");
  const std::regex name_pattern("[A-Za-z0-9][A-Za-z0-9._+-]*");
  for (const std::string& package : request.packages) {
    if (!std::regex_match(package, package_pattern)) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}' names no package and version: write PACKAGE==VERSION, such as "
                              "onednn-cpu-gomp==2023.2.0",
                              package));
    }
  }
  std::string name = request.name;
  if (name.empty()) {
    name = request.packages.front();
    name.replace(name.find("=="), 2, "-");
  }
  if (!std::regex_match(name, name_pattern) || name == "default") {
    throw Error(
        Error::Kind::kUser,
        fmt::format("a stack cannot be called '{}': use letters, digits, '.', '_', '-'", name));
  }
  return name;
}

/// Lists the shared libraries below a folder, relative to it.
std::vector<fs::path> libraries_below(const fs::path& folder) {
  std::vector<fs::path> result;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() &&
        entry.path().filename().string().find(".so") != std::string::npos) {
      result.push_back(fs::relative(entry.path(), folder));
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

/// Replaces equal files of a folder by links to the first: wheels cannot hold links.
void link_equal_files(const fs::path& folder, const std::vector<fs::path>& libraries) {
  std::map<std::pair<fs::path, std::string>, fs::path> first;
  for (const fs::path& library : libraries) {
    const fs::path file = folder / library;
    const auto [known, fresh] =
        first.emplace(std::pair(file.parent_path(), sha256_of_file(file)), file);
    if (!fresh) {
      fs::remove(file);
      fs::create_symlink(known->second.filename(), file);
    }
  }
}

/// Writes what load_stack reads; texts were checked or come from file names, and are quoted.
/// `target` is where the folder will lie.
void write_stack_file(const fs::path& folder,
                      const fs::path& target,
                      const FetchRequest& request,
                      const std::vector<std::string>& wheels,
                      const std::vector<fs::path>& libraries) {
  const auto quoted = [](const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') {
        result += '\\';
      }
      result += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
    return result + "\"";
  };
  const auto dnnl = std::find_if(libraries.begin(), libraries.end(), [](const fs::path& library) {
    return library.filename().string().rfind("libdnnl.so", 0) == 0;
  });
  const bool cuda = std::any_of(libraries.begin(), libraries.end(), [](const fs::path& library) {
    const std::string name = library.filename().string();
    return name.rfind("libcudnn", 0) == 0 || name.rfind("libcublas", 0) == 0;
  });
  if (dnnl == libraries.end() && !cuda) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("{} hold no library that a worker measures (libdnnl, libcudnn, libcublas); "
                    "libraries there are: {}",
                    fmt::join(request.packages, ", "),
                    libraries.empty() ? "none" : libraries.front().string() + "…"));
  }
  std::vector<std::string> folders;
  for (const fs::path& library : libraries) {
    const std::string parent = quoted(library.parent_path().string());
    if (std::find(folders.begin(), folders.end(), parent) == folders.end()) {
      folders.push_back(parent);
    }
  }
  std::ofstream out(folder / "stack.toml");
  out << fmt::format("# fetched: {}\n", fmt::join(request.packages, " "));
  for (const std::string& wheel : wheels) {
    out << "# sha256 " << wheel << '\n';
  }
  out << fmt::format("backend = \"{}\"\n", dnnl != libraries.end() ? "onednn" : "cuda");
  if (dnnl != libraries.end()) {
    out << fmt::format("libraries = [{}]\n", quoted(dnnl->string()));
  }
  out << fmt::format("folders = [{}]\n", fmt::join(folders, ", "));
  // oneDNN's SYCL builds find the CPU through OpenCL, and that its driver by this variable.
  const auto opencl = std::find_if(libraries.begin(), libraries.end(), [](const fs::path& library) {
    return library.filename() == "libintelocl.so";
  });
  if (opencl != libraries.end()) {
    out << fmt::format("variables = {{ OCL_ICD_FILENAMES = {} }}\n",
                       quoted((target / *opencl).string()));
  }
  out.close();
  if (!out) {
    throw Error(
        Error::Kind::kEnvironment,
        fmt::format("cannot write '{}': is the disk full?", (folder / "stack.toml").string()));
  }
}

}  // namespace

std::string fetch_stack(const FetchRequest& request,
                        const fs::path& stacks_folder,
                        const std::function<void(const std::string&)>& log) {
  std::string name = stack_name(request);
  const fs::path target = stacks_folder / name;
  if (fs::exists(target)) {
    throw Error(Error::Kind::kUser,
                fmt::format("the stack '{}' exists: give another --name, or remove '{}' first",
                            name,
                            target.string()));
  }
  const ScratchFolder scratch(stacks_folder);
  const fs::path venv = scratch.path() / "venv";
  const fs::path downloads = scratch.path() / "wheels";
  const fs::path content = scratch.path() / "stack";
  must(run(find_python(), {"-m", "venv", venv.string()}, [](const std::string&) {}),
       Error::Kind::kEnvironment,
       "python3 cannot make the environment that fetches wheels: install python3-venv");
  const std::string python = (venv / "bin/python3").string();
  std::vector<std::string> arguments{"-m",
                                     "pip",
                                     "--disable-pip-version-check",
                                     "--no-input",
                                     "download",
                                     "--progress-bar=off",
                                     "--only-binary=:all:",
                                     "--dest",
                                     downloads.string()};
  if (!request.dependencies) {
    arguments.emplace_back("--no-deps");
  }
  arguments.insert(arguments.end(), request.packages.begin(), request.packages.end());
  must(run(python, arguments, log),
       Error::Kind::kUser,
       fmt::format("could not fetch {}: does the version exist, with a wheel for this machine?",
                   fmt::join(request.packages, ", ")));

  std::vector<std::string> wheels;
  for (const fs::directory_entry& wheel : fs::directory_iterator(downloads)) {
    wheels.push_back(sha256_of_file(wheel.path()) + " " + wheel.path().filename().string());
    must(run(python,
             {"-m", "zipfile", "-e", wheel.path().string(), content.string()},
             [](const std::string&) {}),
         Error::Kind::kEnvironment,
         fmt::format("cannot unpack '{}': is the disk full?", wheel.path().filename().string()));
  }
  std::sort(wheels.begin(), wheels.end(), [](const std::string& left, const std::string& right) {
    return left.substr(left.find(' ')) < right.substr(right.find(' '));
  });
  const std::vector<fs::path> libraries = libraries_below(content);
  link_equal_files(content, libraries);
  write_stack_file(content, target, request, wheels, libraries);
  std::error_code error;
  fs::rename(content, target, error);
  if (error) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot put the stack at '{}': {}", target.string(), error.message()));
  }
  return name;
}

}  // namespace plumb
