// SPDX-License-Identifier: Apache-2.0
#include <offramp/core/error.hpp>
#include <offramp/core/file.hpp>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <thread>
#include <vector>

namespace offramp {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Existing = OutputFile::Existing;

std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The IoError that `body` throws: its errno and its message.
template <class Body>
std::pair<int, std::string> io_error(Body&& body) {
  try {
    body();
  } catch (const IoError& error) {
    return {error.errno_value(), error.what()};
  }
  return {0, "no IoError"};
}

class FileTest : public testing::Test {
 protected:
  FileTest() {
    folder_ = fs::path(testing::TempDir()) /
              ("offramp_file_test_" + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  ~FileTest() override { fs::remove_all(folder_); }

  std::string at(std::string_view name) const { return folder_ / name; }
  void put(std::string_view name, std::string_view text) const {
    std::ofstream(at(name), std::ios::binary) << text;
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  fs::path folder_;
};

TEST_F(FileTest, AppearsOnlyAtCommit) {
  OutputFile file(at("a"), Existing::refuse);
  file.append(as_bytes("hello "));
  const std::array pieces{as_bytes("big"), as_bytes(""), as_bytes(" world")};
  file.append(pieces);
  file.write_at(0, as_bytes("H"));
  file.append(as_bytes("!"));
  EXPECT_EQ(file.size(), 16u);
  EXPECT_FALSE(fs::exists(at("a")));
  EXPECT_TRUE(fs::exists(file.temporary_path()));
  file.commit();
  EXPECT_EQ(slurp(at("a")), "Hello big world!");
  EXPECT_EQ(entries(), 1u);
  EXPECT_THROW(file.commit(), LogicError);
}

TEST_F(FileTest, TakesMorePiecesThanOneCallDoes) {
  std::string expected;
  std::vector<std::string> texts;
  for (int i = 0; i < 100; ++i) texts.push_back(std::string(static_cast<std::size_t>(i), 'a'));
  std::vector<std::span<const std::byte>> pieces;
  for (const auto& text : texts) {
    pieces.push_back(as_bytes(text));
    expected += text;
  }
  OutputFile file(at("a"), Existing::refuse);
  file.append(pieces);
  file.commit();
  EXPECT_EQ(slurp(at("a")), expected);
}

TEST_F(FileTest, DestroyedBeforeCommitLeavesNothing) {
  { OutputFile(at("a"), Existing::refuse).append(as_bytes("x")); }
  EXPECT_EQ(entries(), 0u);
  {
    OutputFile file(at("a"), Existing::refuse);
    OutputFile moved(std::move(file));
    OutputFile other(at("b"), Existing::refuse);
    other = std::move(moved);
    EXPECT_EQ(entries(), 1u);
    EXPECT_EQ(other.path(), at("a"));
  }
  EXPECT_EQ(entries(), 0u);
}

TEST_F(FileTest, LeavesWhatIsThereUnderANameOfItsOwn) {
  put("clip.mp4", "whole");
  put("clip.partial.mp4", "of a run before");
  for (const auto& [target, left] : {std::pair{"clip.mp4", "clip.partial-2.mp4"},
                                     {"clip.mp4", "clip.partial-3.mp4"},
                                     {"no_extension", "no_extension.partial"},
                                     {".hidden", ".hidden.partial"}}) {
    OutputFile file(at(target), Existing::overwrite);
    file.append(as_bytes("half"));
    EXPECT_EQ(file.leave(), at(left));
    EXPECT_EQ(slurp(at(left)), "half");
    EXPECT_EQ(file.leave(), "") << "there is nothing left to leave";
  }
  EXPECT_EQ(slurp(at("clip.mp4")), "whole");
  EXPECT_EQ(slurp(at("clip.partial.mp4")), "of a run before");
  EXPECT_EQ(entries(), 6u);
  EXPECT_EQ(OutputFile("/dev/null", Existing::refuse).leave(), "");
}

TEST_F(FileTest, WritesToStandardOutput) {
  const int kept = ::dup(STDOUT_FILENO);
  const int to = ::open(at("out").c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_GE(to, 0);
  ::fflush(stdout);
  ::dup2(to, STDOUT_FILENO);
  {
    OutputFile file = OutputFile::standard_output();
    file.append(as_bytes("frames"));
    file.commit();
  }
  ::dup2(kept, STDOUT_FILENO);
  ::close(kept);
  ::close(to);
  EXPECT_EQ(slurp(at("out")), "frames");
}

TEST_F(FileTest, ReplacesOnlyWhenTold) {
  put("a", "old");
  fs::permissions(at("a"), fs::perms(0640));
  const auto [code, message] = io_error([&] { OutputFile(at("a"), Existing::refuse); });
  EXPECT_EQ(code, EEXIST);
  EXPECT_THAT(message, HasSubstr("--overwrite"));
  EXPECT_THAT(message, HasSubstr(at("a")));
  OutputFile file(at("a"), Existing::overwrite);
  file.append(as_bytes("new"));
  EXPECT_EQ(slurp(at("a")), "old");
  file.commit();
  EXPECT_EQ(slurp(at("a")), "new");
  EXPECT_EQ(fs::status(at("a")).permissions(), fs::perms(0640));
}

TEST_F(FileTest, KeepsATargetThatAppearedMeanwhile) {
  {
    OutputFile file(at("a"), Existing::refuse);
    file.append(as_bytes("mine"));
    put("a", "theirs");
    const auto [code, message] = io_error([&] { file.commit(); });
    EXPECT_EQ(code, EEXIST);
    EXPECT_EQ(slurp(at("a")), "theirs");
  }
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, FollowsLinks) {
  fs::create_directory(at("real"));
  put("real/a", "old");
  fs::create_symlink("real/a", at("link"));
  fs::create_symlink("link", at("link2"));
  OutputFile file(at("link2"), Existing::overwrite);
  file.append(as_bytes("new"));
  EXPECT_EQ(fs::path(file.temporary_path()).parent_path(), fs::path(at("real")));
  file.commit();
  EXPECT_TRUE(fs::is_symlink(at("link2")));
  EXPECT_EQ(slurp(at("real/a")), "new");

  fs::create_symlink("real/fresh", at("dangling"));
  OutputFile fresh(at("dangling"), Existing::refuse);
  fresh.append(as_bytes("x"));
  fresh.commit();
  EXPECT_TRUE(fs::is_symlink(at("dangling")));
  EXPECT_EQ(slurp(at("real/fresh")), "x");

  fs::create_symlink("loop", at("loop"));
  EXPECT_EQ(io_error([&] { OutputFile(at("loop"), Existing::overwrite); }).first, ELOOP);
}

TEST_F(FileTest, WritesToDevicesAndPipesDirectly) {
  OutputFile null("/dev/null", Existing::refuse);
  EXPECT_TRUE(null.temporary_path().empty());
  null.append(as_bytes("x"));
  null.commit();
  EXPECT_TRUE(fs::is_character_file("/dev/null"));

  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  std::string got;
  std::jthread reader([&] { got = slurp(at("pipe")); });
  {
    OutputFile pipe(at("pipe"), Existing::refuse);
    const std::string large(1 << 20, 'p');  // far beyond what a pipe holds: short writes
    pipe.append(as_bytes(large));
    EXPECT_THAT(io_error([&] { pipe.write_at(0, as_bytes("x")); }).second,
                HasSubstr("regular file"));
    pipe.commit();
  }
  reader.join();
  EXPECT_EQ(got, std::string(1 << 20, 'p'));
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
}

TEST_F(FileTest, SaysWhatAFullDiskNeeds) {
  OutputFile full("/dev/full", Existing::overwrite);
  const auto [code, message] = io_error([&] { full.append(as_bytes("x")); });
  EXPECT_EQ(code, ENOSPC);
  EXPECT_EQ(
      message,
      "/dev/full: cannot write: No space left on device; free space or choose another folder");
}

TEST_F(FileTest, StopsAtTheFileSizeLimit) {
  struct rlimit old {};
  ::getrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, SIG_IGN);
  struct rlimit tight = old;
  tight.rlim_cur = 1000;
  {
    OutputFile file(at("a"), Existing::refuse);
    ::setrlimit(RLIMIT_FSIZE, &tight);
    // A short write first, then the refusal.
    const auto [code, message] = io_error([&] { file.append(as_bytes(std::string(1500, 'x'))); });
    ::setrlimit(RLIMIT_FSIZE, &old);
    EXPECT_EQ(code, EFBIG);
    EXPECT_EQ(file.size(), 1000u);
    EXPECT_THAT(message, HasSubstr("ulimit -f"));
  }
  EXPECT_EQ(entries(), 0u);
}

TEST_F(FileTest, NamesPathCauseAndRemedy) {
  const auto missing = io_error([&] { OutputFile(at("no/a"), Existing::refuse); });
  EXPECT_EQ(missing.first, ENOENT);
  EXPECT_THAT(missing.second, HasSubstr("the folder must exist"));
  const auto absent = io_error([&] { InputFile(at("a")); });
  EXPECT_EQ(absent.first, ENOENT);
  EXPECT_THAT(absent.second, AllOf(HasSubstr("check the path"), Not(HasSubstr("folder must"))));
  EXPECT_EQ(io_error([&] { OutputFile(at(""), Existing::overwrite); }).first, EISDIR);
  EXPECT_EQ(io_error([&] { OutputFile(at("new/"), Existing::overwrite); }).first, EISDIR);
  EXPECT_EQ(io_error([&] { OutputFile("", Existing::overwrite); }).first, ENOENT);
  put("file", "");
  EXPECT_EQ(io_error([&] { OutputFile(at("file/a"), Existing::refuse); }).first, ENOTDIR);
  EXPECT_EQ(io_error([&] { OutputFile("/proc/a", Existing::refuse); }).first, ENOENT);
}

TEST_F(FileTest, NeedsPermission) {
  const bool root = ::geteuid() == 0;
  put("secret", "x");
  fs::permissions(at("secret"), fs::perms(0));
  fs::permissions(folder_, fs::perms(0555));
  if (root) {
    ASSERT_EQ(::seteuid(65534), 0);  // root may read and write anywhere
  }
  const auto [code, message] = io_error([&] { OutputFile(at("a"), Existing::refuse); });
  const auto read = io_error([&] { InputFile(at("secret")); });
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  fs::permissions(folder_, fs::perms(0700));
  EXPECT_EQ(read.first, EACCES);
  EXPECT_EQ(code, EACCES);
  EXPECT_THAT(message, HasSubstr("permissions"));
}

TEST_F(FileTest, TakesTheLongestName) {
  const std::string name(255, 'n');
  OutputFile file(at(name), Existing::refuse);
  file.append(as_bytes("x"));
  file.commit();
  EXPECT_EQ(slurp(at(name)), "x");
  EXPECT_EQ(io_error([&] { OutputFile(at(name + "n"), Existing::refuse); }).first, ENAMETOOLONG);
}

TEST_F(FileTest, ReadsAtAnyPlace) {
  put("a", "0123456789");
  const InputFile file(at("a"));
  EXPECT_EQ(file.size(), 10u);
  std::array<std::byte, 4> out{};
  file.read(3, out);
  EXPECT_TRUE(std::ranges::equal(out, as_bytes("3456")));
  file.read(10, std::span(out).first(0));
  for (const std::uint64_t offset : {std::uint64_t{7}, std::uint64_t{100}}) {
    try {
      file.read(offset, out);
      FAIL();
    } catch (const DataError& error) {
      EXPECT_EQ(error.error().code, ErrorCode::truncated);
      EXPECT_EQ(error.error().path, at("a"));
    }
  }
  EXPECT_THROW(file.read(~std::uint64_t{0}, out), IoError);
}

TEST_F(FileTest, ReadsRegularFilesOnly) {
  EXPECT_EQ(io_error([&] { InputFile(at("none")); }).first, ENOENT);
  EXPECT_EQ(io_error([&] { InputFile(at("")); }).first, EISDIR);
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  const auto pipe = io_error([&] { InputFile(at("pipe")); });
  EXPECT_EQ(pipe.first, ESPIPE);
  EXPECT_THAT(pipe.second, HasSubstr("copy it to a regular file"));
  EXPECT_EQ(io_error([&] { InputFile("/dev/null"); }).first, ESPIPE);
}

TEST_F(FileTest, KnowsOneFileByTwoNames) {
  put("a", "x");
  put("b", "x");
  fs::create_symlink("a", at("link"));
  fs::create_hard_link(at("a"), at("hard"));
  EXPECT_TRUE(same_file(at("a"), at("./a")));
  EXPECT_TRUE(same_file(at("a"), at("link")));
  EXPECT_TRUE(same_file(at("hard"), at("a")));
  EXPECT_FALSE(same_file(at("a"), at("b")));
  EXPECT_FALSE(same_file(at("none"), at("none")));
}

}  // namespace
}  // namespace offramp
