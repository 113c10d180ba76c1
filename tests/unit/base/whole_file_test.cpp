// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class WholeFile : public testing::Test {
 protected:
  [[nodiscard]] fs::path at(const char* name) const { return folder_.path() / name; }

  static void write(const fs::path& target, const std::string& text) {
    write_whole_file(target, [&](std::ostream& out) { out << text; });
  }

  static std::string text_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  static std::string fault_of(const fs::path& target) {
    try {
      write(target, "text");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
      return error.what();
    }
    return "";
  }

  /// Returns the number of entries of the folder.
  [[nodiscard]] std::ptrdiff_t entries() const {
    return std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator());
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(WholeFile, is_made_or_replaced_and_leaves_nothing_beside_it) {
  write(at("a"), std::string(100'000, 'x'));
  EXPECT_EQ(text_of(at("a")).size(), 100'000U);
  write(at("a"), "b");
  EXPECT_EQ(text_of(at("a")), "b");
  EXPECT_EQ(entries(), 1);
}

TEST_F(WholeFile, keeps_the_old_text_if_the_writer_throws) {
  write(at("a"), "old");
  EXPECT_THROW(write_whole_file(at("a"),
                                [](std::ostream& out) {
                                  out << "half";
                                  throw std::runtime_error("no more");
                                }),
               std::runtime_error);
  EXPECT_EQ(text_of(at("a")), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(WholeFile, keeps_the_mode_of_a_file) {
  write(at("a"), "old");
  ASSERT_EQ(::chmod(at("a").c_str(), 0640), 0);
  write(at("a"), "new");
  struct stat status {};
  ASSERT_EQ(::stat(at("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0640U);
}

TEST_F(WholeFile, is_written_through_links) {
  fs::create_directory(at("elsewhere"));
  write(at("elsewhere") / "file", "old");
  fs::create_symlink("elsewhere/file", at("link"));
  fs::create_symlink(at("link"), at("link_to_link"));
  write(at("link_to_link"), "new");
  EXPECT_EQ(text_of(at("elsewhere") / "file"), "new");
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_TRUE(fs::is_symlink(at("link_to_link")));
  EXPECT_FALSE(fs::is_symlink(at("elsewhere") / "file"));
}

TEST_F(WholeFile, is_made_where_a_dangling_link_leads) {
  fs::create_symlink("later", at("link"));
  write(at("link"), "new");
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(text_of(at("later")), "new");
  fs::create_symlink("circle", at("circle"));
  EXPECT_THAT(fault_of(at("circle")), HasSubstr("symbolic links"));
  EXPECT_TRUE(fs::is_symlink(at("circle")));
}

TEST_F(WholeFile, is_no_name_for_a_pipe_which_stays_one) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", at("link"));
  const int reader = ::open(at("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  write(at("pipe"), "first ");
  write(at("link"), "second");
  std::array<char, 64> bytes{};
  const ssize_t count = ::read(reader, bytes.data(), bytes.size());
  ::close(reader);
  EXPECT_EQ(std::string(bytes.data(), static_cast<std::size_t>(std::max(count, ssize_t{0}))),
            "first second");
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
  EXPECT_TRUE(fs::is_symlink(at("link")));
}

TEST_F(WholeFile, says_why_it_cannot_be_written) {
  EXPECT_THAT(fault_of("/dev/full"), HasSubstr("'/dev/full': No space left on device"));
  EXPECT_THAT(fault_of(at("none") / "file"), HasSubstr("No such file or directory"));
  EXPECT_THAT(fault_of(at("")), HasSubstr("Is a directory"));
}

TEST_F(WholeFile, leaves_devices_as_they_are) {
  fs::create_symlink("/dev/null", at("link"));
  write(at("link"), "text");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_TRUE(fs::is_symlink(at("link")));
}

}  // namespace
}  // namespace plumb
