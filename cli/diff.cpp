// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"
#include "inputs.hpp"
#include "text.hpp"

#include <offramp/core/compare.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

namespace offramp::cli {
namespace {

struct Options {
  std::string a{};
  std::string b{};
  std::size_t threads{0};
};

// JSON has no infinity: the two that occur are spelled out.
nlohmann::json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

class Diff {
 public:
  Diff(const Options& options, const Context& context) : options_(options), context_(context) {}

  int run() {
    Workers workers(options_.threads);
    const auto a = open_tensors(options_.a, {}, workers);
    const auto b = open_tensors(options_.b, {}, workers);
    std::map<std::string, std::size_t, std::less<>> in_b;
    for (std::size_t i = 0; i < b->tensors().size(); ++i) in_b[b->tensors()[i].name] = i;
    std::uint64_t total = 0;
    for (const TensorInfo& info : a->tensors()) total += info.desc.size();
    Progress progress("diff", total, context_.progress_style());
    for (std::size_t i = 0; i < a->tensors().size(); ++i) {
      const TensorInfo& info = a->tensors()[i];
      const auto found = in_b.find(info.name);
      if (found == in_b.end()) {
        add_note(info.name, "only in " + options_.a);
        continue;
      }
      const TensorInfo& other = b->tensors()[found->second];
      if (info.desc != other.desc) {
        add_note(info.name, fmt::format("{} {} against {} {}", name_of(info.desc.dtype),
                                        info.desc.shape.to_string(), name_of(other.desc.dtype),
                                        other.desc.shape.to_string()));
      } else {
        compare(*a, i, *b, found->second, progress);
      }
      in_b.erase(found);
    }
    for (const auto& [name, index] : in_b) add_note(name, "only in " + options_.b);
    const bool metadata_equal = a->metadata() == b->metadata();
    const std::string summary = equal_ ? "all tensors bit-equal"
                                       : fmt::format("{} differ{}", counted(differing_, "tensor"),
                                                     differing_ == 1 ? "s" : "");
    context_.print(
        {{"ok", true},
         {"command", "diff"},
         {"a", options_.a},
         {"b", options_.b},
         {"bit_equal", equal_},
         {"metadata_equal", metadata_equal},
         {"tensors", tensors_}},
        table_.to_string() + summary + (metadata_equal ? "\n" : "; the metadata differs\n"));
    return equal_ ? done : bad_data;
  }

 private:
  void add_note(const std::string& name, const std::string& note) {
    equal_ = false;
    ++differing_;
    table_.add({printable(name), "no", note, "", "", "", ""});
    tensors_.push_back({{"name", name}, {"bit_equal", false}, {"note", note}});
  }

  void compare(TensorSource& a, std::size_t index_a, TensorSource& b, std::size_t index_b,
               Progress& progress) {
    const TensorInfo& info = a.tensors()[index_a];
    const std::size_t elem_size = size_of(info.desc.dtype);
    const std::uint64_t elems = info.desc.shape.elems();
    const std::uint64_t piece = (8u << 20) / elem_size;
    buffer_a_.resize(std::min(elems, piece) * elem_size);
    buffer_b_.resize(buffer_a_.size());
    Comparison comparison(info.desc.dtype);
    for (std::uint64_t at = 0; at < elems; at += piece) {
      if (context_.stop.stop_requested()) {
        throw DataError(
            {.code = ErrorCode::cancelled, .what = "cancelled", .path = {}, .remedy = {}});
      }
      const std::size_t size = std::min(piece, elems - at) * elem_size;
      a.read(index_a, at, std::span(buffer_a_).first(size));
      b.read(index_b, at, std::span(buffer_b_).first(size));
      comparison.add(std::span(buffer_a_).first(size), std::span(buffer_b_).first(size));
      seen_ += size;
      progress.update(seen_);
    }
    equal_ = equal_ && comparison.bit_equal();
    differing_ += !comparison.bit_equal();
    table_.add(
        {printable(info.name), comparison.bit_equal() ? "yes" : "no",
         fmt::format("{}", comparison.differing()), fmt::format("{:.6g}", comparison.max_error()),
         fmt::format("{:.3g}", comparison.nmse()), fmt::format("{:.2f}", comparison.snr_db()),
         fmt::format("{:.8f}", comparison.cosine())});
    tensors_.push_back({{"name", info.name},
                        {"bit_equal", comparison.bit_equal()},
                        {"elements", comparison.elems()},
                        {"differing", comparison.differing()},
                        {"nonfinite_differing", comparison.nonfinite()},
                        {"max_error", number(comparison.max_error())},
                        {"nmse", number(comparison.nmse())},
                        {"snr_db", number(comparison.snr_db())},
                        {"cosine", number(comparison.cosine())}});
  }

  const Options& options_;
  const Context& context_;
  Table table_{{"tensor", "bit-equal", "differing", "max error", "NMSE", "SNR dB", "cosine"}};
  nlohmann::json tensors_ = nlohmann::json::array();
  std::vector<std::byte> buffer_a_{};
  std::vector<std::byte> buffer_b_{};
  std::uint64_t seen_{};
  std::uint64_t differing_{};
  bool equal_{true};
};

}  // namespace

void add_diff(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand(
      "diff", "Compare two files tensor by tensor: bits, largest error, NMSE, SNR, cosine");
  auto options = std::make_shared<Options>();
  command->add_option("A", options->a, "The original: .safetensors, .npy, .ofr or a folder")
      ->required();
  command->add_option("B", options->b, "The one to compare with it")->required();
  command->add_option("--threads", options->threads, "Threads that decode (0: all processors)")
      ->check(CLI::Range(0, 1024));
  context.add_common_options(*command);
  command->callback([options, &context] {
    context.run = [=, &context] { return Diff(*options, context).run(); };
  });
}

}  // namespace offramp::cli
