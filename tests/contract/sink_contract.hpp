// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every TensorSink owes its users. A test executable includes this file and instantiates
// SinkContract over cases.

#include "contract/tensor_set.hpp"

#include <offramp/core/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <thread>

namespace offramp {

struct SinkCase {
  std::string name{};
  bool many{true};     ///< holds several tensors, with their names and metadata
  std::string path{};  ///< in the scratch folder; empty: not a file
  std::function<std::unique_ptr<TensorSink>(const std::string& path, bool overwrite)> make{};

  /// What a finished sink holds, as a source. Called while the sink lives.
  std::function<std::unique_ptr<TensorSource>(TensorSink& sink, const std::string& path)> reopen{};
};

inline void PrintTo(const SinkCase& each, std::ostream* out) { *out << each.name; }

class SinkContract : public testing::TestWithParam<SinkCase> {
 protected:
  [[nodiscard]] bool is_file() const { return !GetParam().path.empty(); }
  [[nodiscard]] std::string path() const { return scratch_ / GetParam().path; }
  [[nodiscard]] std::unique_ptr<TensorSink> make(bool overwrite = false) const {
    return GetParam().make(path(), overwrite);
  }
  void expect_holds(TensorSink& sink, const TensorSet& set) const {
    const auto source = GetParam().reopen(sink, path());
    ASSERT_EQ(source->tensors().size(), set.infos.size());
    for (std::size_t i = 0; i < set.infos.size(); ++i) {
      EXPECT_EQ(source->tensors()[i], set.infos[i]) << set.infos[i].name;
      EXPECT_EQ(read_whole(*source, i), set.bytes[i]) << set.infos[i].name;
    }
    EXPECT_EQ(source->metadata(), set.metadata);
  }

  ScratchFolder scratch_;
  TensorSet set_{sample_tensors(GetParam().many)};
};

TEST_P(SinkContract, holds_what_was_written) {
  const auto sink = make();
  EXPECT_FALSE(sink->name().empty());
  set_.write_to(*sink);
  expect_holds(*sink, set_);
  if (is_file()) {
    EXPECT_EQ(scratch_.entries().size(), 1u) << "nothing else is left in the folder";
  }
}

TEST_P(SinkContract, takes_pieces_in_any_order_from_several_threads) {
  struct Piece {
    std::size_t tensor;
    std::uint64_t first;
    std::uint64_t count;
  };
  std::vector<Piece> pieces;
  std::mt19937 random(3);
  for (std::size_t i = 0; i < set_.infos.size(); ++i) {
    const std::uint64_t elems = set_.infos[i].desc.shape.elems();
    for (std::uint64_t at = 0; at < elems;) {
      const std::uint64_t count = std::min<std::uint64_t>(elems - at, 1 + random() % 9);
      pieces.push_back({i, at, count});
      at += count;
    }
  }
  std::ranges::shuffle(pieces, random);

  const auto sink = make();
  sink->begin(set_.infos, set_.metadata);
  constexpr std::size_t writers = 4;
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < writers; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t i = thread; i < pieces.size(); i += writers) {
        const auto& [tensor, first, count] = pieces[i];
        const std::size_t size = size_of(set_.infos[tensor].desc.dtype);
        sink->write(tensor, first,
                    std::span(set_.bytes[tensor]).subspan(first * size, count * size));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  sink->finish();
  expect_holds(*sink, set_);
}

TEST_P(SinkContract, nothing_has_the_final_name_before_finish) {
  if (!is_file()) GTEST_SKIP() << "in memory: there is no name";
  const auto sink = make();
  EXPECT_THAT(scratch_.entries(), testing::IsEmpty()) << "created before begin";
  sink->begin(set_.infos, set_.metadata);
  EXPECT_FALSE(std::filesystem::exists(path()));
  EXPECT_EQ(scratch_.entries().size(), 1u);
  for (std::size_t i = 0; i < set_.infos.size(); ++i) sink->write(i, 0, set_.bytes[i]);
  EXPECT_FALSE(std::filesystem::exists(path()));
  sink->finish();
  EXPECT_TRUE(std::filesystem::exists(path()));
}

TEST_P(SinkContract, destroyed_before_finish_it_leaves_nothing) {
  auto sink = make();
  sink->begin(set_.infos, set_.metadata);
  sink->write(0, 0, set_.bytes[0]);
  sink.reset();
  EXPECT_THAT(scratch_.entries(), testing::IsEmpty());
}

TEST_P(SinkContract, an_incomplete_tensor_is_refused_and_leaves_nothing) {
  auto sink = make();
  sink->begin(set_.infos, set_.metadata);
  for (std::size_t i = 0; i < set_.infos.size(); ++i) {
    const std::size_t missing = i == 0 ? size_of(set_.infos[0].desc.dtype) : 0;
    sink->write(i, 0, std::span(set_.bytes[i]).first(set_.bytes[i].size() - missing));
  }
  const Error error = data_error_of([&] { sink->finish(); });
  EXPECT_EQ(error.code, ErrorCode::truncated);
  EXPECT_THAT(error.what, testing::HasSubstr(set_.infos[0].name));
  EXPECT_FALSE(is_file() && std::filesystem::exists(path()));
  sink.reset();
  EXPECT_THAT(scratch_.entries(), testing::IsEmpty());
}

TEST_P(SinkContract, what_stands_there_is_kept_unless_it_may_be_overwritten) {
  if (!is_file()) GTEST_SKIP() << "in memory: nothing stands there";
  set_.write_to(*make());
  TensorSet other = sample_tensors(GetParam().many);
  for (auto& bytes : other.bytes) std::ranges::reverse(bytes);

  try {
    other.write_to(*make());
    FAIL() << "replaced without leave";
  } catch (const IoError& error) {
    EXPECT_EQ(error.errno_value(), EEXIST);
    EXPECT_THAT(error.what(), testing::HasSubstr("--overwrite"));
    EXPECT_THAT(error.what(), testing::HasSubstr(std::filesystem::path(path()).filename()));
  }
  const auto unused = make();
  expect_holds(*unused, set_);

  {
    const auto unfinished = make(true);
    unfinished->begin(other.infos, other.metadata);
    unfinished->write(0, 0, other.bytes[0]);
  }
  expect_holds(*unused, set_);
  EXPECT_EQ(scratch_.entries().size(), 1u);

  other.write_to(*make(true));
  expect_holds(*unused, other);
  EXPECT_EQ(scratch_.entries().size(), 1u);
}

TEST_P(SinkContract, a_missing_folder_is_an_io_error) {
  if (!is_file()) GTEST_SKIP() << "in memory: there is no folder";
  const auto sink = GetParam().make(scratch_ / ("missing/" + GetParam().path), false);
  try {
    sink->begin(set_.infos, set_.metadata);
    FAIL() << "began in a folder that does not exist";
  } catch (const IoError& error) {
    EXPECT_EQ(error.errno_value(), ENOENT);
    EXPECT_THAT(error.what(), testing::HasSubstr("missing/"));
  }
}

TEST_P(SinkContract, refuses_broken_calls) {
  const auto sink = make();
  EXPECT_THROW(sink->write(0, 0, {}), LogicError);
  EXPECT_THROW(sink->finish(), LogicError);
  sink->begin(set_.infos, set_.metadata);
  EXPECT_THROW(sink->begin(set_.infos, set_.metadata), LogicError);
  const TensorDesc& desc = set_.infos[0].desc;
  const std::size_t elem_size = size_of(desc.dtype);
  const std::vector<std::byte> bytes(desc.size() + elem_size);
  EXPECT_THROW(sink->write(0, 0, bytes), LogicError);
  EXPECT_THROW(sink->write(0, 1, std::span(bytes).first(desc.size())), LogicError);
  EXPECT_THROW(sink->write(0, UINT64_MAX, std::span(bytes).first(elem_size)), LogicError);
  EXPECT_THROW(sink->write(0, UINT64_MAX / elem_size + 1, std::span(bytes).first(elem_size)),
               LogicError);
  EXPECT_THROW(sink->write(0, 0, std::span(bytes).first(elem_size - 1)), LogicError);
  EXPECT_THROW(sink->write(set_.infos.size(), 0, {}), LogicError);
  for (std::size_t i = 0; i < set_.infos.size(); ++i) sink->write(i, 0, set_.bytes[i]);
  sink->finish();
  EXPECT_THROW(sink->finish(), LogicError);
  EXPECT_THROW(sink->write(0, 0, {}), LogicError);
  expect_holds(*sink, set_);
}

TEST_P(SinkContract, refuses_what_it_cannot_hold_before_it_creates_anything) {
  const std::vector<std::pair<std::vector<TensorInfo>, ErrorCode>> cases{
      {{{"a", {DType::u8, {1}}}, {"a", {DType::u8, {1}}}}, ErrorCode::duplicate},
      {{{"not utf-8 \xff", {DType::u8, {1}}}}, ErrorCode::bad_name},
      {{{"surrogate \xed\xa0\x80", {DType::u8, {1}}}}, ErrorCode::bad_name},
      {{{"large", {DType::fp64, {std::uint64_t{1} << 61}}}}, ErrorCode::limit_exceeded},
      {{{"product", {DType::u8, {1ull << 32, 1ull << 33}}}}, ErrorCode::limit_exceeded},
      {{{"b", {DType::u8, {1ull << 62}}}, {"c", {DType::u8, {1ull << 62}}}},
       ErrorCode::limit_exceeded}};
  for (const auto& refused : cases) {
    const Error error = data_error_of([&] { make()->begin(refused.first, {}); });
    const bool one_only = !GetParam().many && refused.first.size() > 1;
    EXPECT_EQ(error.code, one_only ? ErrorCode::unsupported : refused.second) << error.message();
  }
  if (!GetParam().many) {
    EXPECT_EQ(data_error_of([&] { make()->begin({}, {}); }).code, ErrorCode::unsupported);
  }
  const Error error = data_error_of([&] {
    make()->begin(std::span(set_.infos).first(1), {{"key", "1"}, {"key", "2"}});
  });
  EXPECT_EQ(error.code, ErrorCode::duplicate);
  EXPECT_THAT(scratch_.entries(), testing::IsEmpty());
}

TEST_P(SinkContract, holds_no_tensors_and_empty_ones) {
  TensorSet none;
  if (!GetParam().many) none.add("one", DType::fp32, {0, 3});
  const auto sink = make();
  none.write_to(*sink);
  expect_holds(*sink, none);
}

}  // namespace offramp
