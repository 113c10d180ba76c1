// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <regex>

#include "harness/base/digest.hpp"
#include "harness/stacks/package_source.hpp"

namespace plumb::stacks {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
constexpr const char* kHowToGet = "`--debian` works on Debian, with apt";

/// An apt with its own state and cache. It reads only the mirror's address from the machine's apt,
/// and writes nothing there.
class PrivateApt {
 public:
  PrivateApt(std::string release, fs::path folder, const LineSink& log)
      : release_(std::move(release)), folder_(std::move(folder)), log_(log) {
    for (const char* part : {"lists/partial", "cache/archives/partial"}) {
      fs::create_directories(folder_ / part);
    }
    std::ofstream(folder_ / "status").close();
    std::ofstream sources(folder_ / "release.sources");
    sources << fmt::format(
        "Types: deb\nURIs: {}\nSuites: {}\nComponents: main\n", mirror(), release_);
    if (fs::exists(kKeyring)) {
      sources << "Signed-By: " << kKeyring << '\n';
    }
  }

  void update() const {
    run("apt-get",
        {"update"},
        fmt::format("cannot read the package list of Debian's release '{}': check that it exists "
                    "and that the mirror can be reached",
                    release_));
  }

  /// Downloads packages with their dependencies, and returns the files.
  [[nodiscard]] std::vector<fs::path> download(const std::vector<std::string>& packages) const {
    std::vector<std::string> arguments{"install", "--yes", "--download-only"};
    for (const std::string& package : packages) {
      const std::size_t equals = package.find("==");
      arguments.push_back(package.substr(0, equals) + package.substr(equals + 1));
    }
    run("apt-get",
        arguments,
        fmt::format("could not fetch {} of Debian's release '{}'; available versions: {}",
                    fmt::join(packages, ", "),
                    release_,
                    versions(packages)));
    std::vector<fs::path> files;
    for (const fs::directory_entry& file : fs::directory_iterator(folder_ / "cache/archives")) {
      if (file.path().extension() == ".deb") {
        files.push_back(file.path());
      }
    }
    return files;
  }

 private:
  /// Returns the first mirror that this machine's apt names and that is not for security updates.
  [[nodiscard]] static std::string mirror() {
    std::vector<std::string> addresses;
    run_installer(
        find_program("apt-get", kHowToGet),
        {"indextargets", "--no-release-info", "--format", "$(REPO_URI)", "Created-By: Packages"},
        [&](const std::string& line) { addresses.push_back(line); },
        Error::Kind::kEnvironment,
        "apt-get cannot say where its packages come from");
    const std::regex address(R"([a-z][a-z+]*:/[!-~]*)");
    for (const std::string& line : addresses) {
      if (std::regex_match(line, address) && line.find("security") == std::string::npos) {
        // apt would use a package behind file: in place. With copy: it comes into the cache.
        return line.rfind("file:", 0) == 0 ? "copy:" + line.substr(5) : line;
      }
    }
    throw Error(Error::Kind::kEnvironment,
                fmt::format("apt does not name a mirror of Debian's packages: {}", kHowToGet));
  }

  [[nodiscard]] std::vector<std::string> options() const {
    const std::string state = folder_.string();
    std::vector<std::string> result;
    for (const std::string& option : {"Dir::Etc::sourcelist=" + state + "/release.sources",
                                      std::string("Dir::Etc::sourceparts=/dev/null"),
                                      "Dir::State=" + state,
                                      "Dir::State::Lists=" + state + "/lists",
                                      "Dir::State::status=" + state + "/status",
                                      "Dir::Cache=" + state + "/cache",
                                      std::string("Acquire::Languages=none"),
                                      std::string("APT::Install-Recommends=false"),
                                      std::string("APT::Sandbox::User=")}) {
      result.insert(result.end(), {"-o", option});
    }
    return result;
  }

  void run(const std::string& program,
           const std::vector<std::string>& arguments,
           const std::string& what) const {
    std::vector<std::string> all = options();
    all.insert(all.end(), arguments.begin(), arguments.end());
    run_installer(find_program(program, kHowToGet), all, log_, Error::Kind::kUser, what);
  }

  /// Returns, as text for a message, the versions of some packages in the release.
  [[nodiscard]] std::string versions(const std::vector<std::string>& packages) const {
    std::vector<std::string> found;
    std::vector<std::string> all = options();
    all.emplace_back("madison");
    for (const std::string& package : packages) {
      all.push_back(package.substr(0, package.find("==")));
    }
    const std::regex row(R"( *(\S+) \| *(\S+) \|.*)");
    const auto keep = [&](const std::string& line) {
      std::smatch parts;
      if (std::regex_match(line, parts, row)) {
        found.push_back(parts[1].str() + "==" + parts[2].str());
      }
    };
    run_installer(find_program("apt-cache", kHowToGet),
                  all,
                  keep,
                  Error::Kind::kEnvironment,
                  "apt-cache cannot list versions");
    return found.empty() ? "none with this name" : fmt::format("{}", fmt::join(found, ", "));
  }

  std::string release_;
  fs::path folder_;
  const LineSink& log_;
};

}  // namespace

std::vector<std::string> unpack_debian_packages(const std::string& release,
                                                const std::vector<std::string>& packages,
                                                const UnpackTarget& target,
                                                const LineSink& log) {
  const PrivateApt apt(release, target.scratch / "apt", log);
  apt.update();
  std::vector<std::string> result;
  for (const fs::path& file : apt.download(packages)) {
    result.push_back(sha256_of_file(file) + " " + file.filename().string());
    run_installer(
        find_program("dpkg-deb", kHowToGet),
        {"--extract", file.string(), target.content.string()},
        log,
        Error::Kind::kEnvironment,
        fmt::format("cannot unpack '{}': check the space on the disk", file.filename().string()));
  }
  return result;
}

}  // namespace plumb::stacks
