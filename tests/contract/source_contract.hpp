// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every TensorSource owes its users. A test executable includes this file and instantiates
// SourceContract over cases.

#include "contract/tensor_set.hpp"

#include <offramp/core/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <thread>

namespace offramp {

struct SourceCase {
  std::string name{};
  bool many{true};     ///< holds several tensors, with their names and metadata
  std::string file{};  ///< the file, in the scratch folder, that ends with the last tensor
  std::function<std::unique_ptr<TensorSource>(const TensorSet&, const ScratchFolder&)> make{};
};

inline void PrintTo(const SourceCase& each, std::ostream* out) { *out << each.name; }

class SourceContract : public testing::TestWithParam<SourceCase> {
 protected:
  SourceContract()
      : set_(sample_tensors(GetParam().many)), source_(GetParam().make(set_, scratch_)) {}

  ScratchFolder scratch_;
  TensorSet set_;
  std::unique_ptr<TensorSource> source_;
};

TEST_P(SourceContract, lists_what_is_there_in_order) {
  ASSERT_EQ(source_->tensors().size(), set_.infos.size());
  for (std::size_t i = 0; i < set_.infos.size(); ++i) {
    EXPECT_EQ(source_->tensors()[i].name, set_.infos[i].name);
    EXPECT_EQ(source_->tensors()[i].desc, set_.infos[i].desc) << set_.infos[i].name;
  }
  EXPECT_EQ(source_->metadata(), set_.metadata);
  EXPECT_FALSE(source_->name().empty());
}

TEST_P(SourceContract, reads_every_tensor_whole) {
  for (std::size_t i = 0; i < set_.infos.size(); ++i) {
    EXPECT_EQ(read_whole(*source_, i), set_.bytes[i]) << set_.infos[i].name;
  }
}

TEST_P(SourceContract, reads_any_range_and_writes_nowhere_else) {
  std::mt19937 random(7);
  constexpr std::size_t guard = 16;
  for (int round = 0; round < 300; ++round) {
    const std::size_t tensor = random() % set_.infos.size();
    const TensorDesc& desc = set_.infos[tensor].desc;
    const std::size_t elem_size = size_of(desc.dtype);
    const std::uint64_t first = random() % (desc.shape.elems() + 1);
    const std::uint64_t count = random() % (desc.shape.elems() - first + 1);
    std::vector<std::byte> out(guard + count * elem_size + guard, std::byte{0xA5});
    source_->read(tensor, first, std::span(out).subspan(guard, count * elem_size));
    std::vector<std::byte> wanted(out.size(), std::byte{0xA5});
    std::copy_n(set_.bytes[tensor].begin() + static_cast<std::ptrdiff_t>(first * elem_size),
                count * elem_size, wanted.begin() + guard);
    ASSERT_EQ(out, wanted) << set_.infos[tensor].name << " from " << first << ", " << count;
  }
}

TEST_P(SourceContract, refuses_ranges_outside_the_tensor) {
  const TensorDesc& desc = set_.infos[0].desc;
  const std::size_t elem_size = size_of(desc.dtype);
  std::vector<std::byte> out(desc.size() + elem_size, std::byte{0xA5});
  const auto before = out;
  EXPECT_THROW(source_->read(0, 0, out), LogicError);
  EXPECT_THROW(source_->read(0, 1, std::span(out).first(desc.size())), LogicError);
  EXPECT_THROW(source_->read(0, desc.shape.elems() + 1, {}), LogicError);
  EXPECT_THROW(source_->read(0, UINT64_MAX, std::span(out).first(elem_size)), LogicError);
  EXPECT_THROW(source_->read(0, UINT64_MAX / elem_size + 1, std::span(out).first(elem_size)),
               LogicError);
  EXPECT_THROW(source_->read(0, 0, std::span(out).first(elem_size - 1)), LogicError);
  EXPECT_THROW(source_->read(set_.infos.size(), 0, {}), LogicError);
  EXPECT_EQ(out, before);
}

TEST_P(SourceContract, reads_from_several_threads) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (std::size_t thread = 0; thread < wrong.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 20; ++round) {
        for (std::size_t i = 0; i < set_.infos.size(); ++i) {
          wrong[thread] += read_whole(*source_, i) != set_.bytes[i];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

TEST_P(SourceContract, a_file_cut_after_it_was_opened_is_an_error) {
  if (GetParam().file.empty()) GTEST_SKIP() << "in memory: there is no file";
  const std::string file = scratch_ / GetParam().file;
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  const std::size_t last = source_->tensors().size() - 1;
  try {
    read_whole(*source_, last);
    ADD_FAILURE() << "the missing byte was read";
  } catch (const MachineError& changed) {  // somebody has written to it meanwhile
    EXPECT_EQ(changed.error().code, ErrorCode::io) << changed.what();
    EXPECT_EQ(changed.error().path, file);
  }
}

}  // namespace offramp
