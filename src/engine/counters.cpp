// SPDX-License-Identifier: Apache-2.0
#include <offramp/engine/counters.hpp>

#include <fmt/format.h>

#include <array>
#include <iterator>

namespace offramp {
namespace {

struct Field {
  std::string_view name;
  std::uint64_t Counters::*value;
  std::string_view help;
  bool is_gauge{false};
  bool is_ns{false};  // Prometheus counts seconds
};

constexpr std::array fields{
    Field{"chunks_in", &Counters::chunks_in, "Chunks submitted, dropped ones included"},
    Field{"chunks_out", &Counters::chunks_out, "Chunks that the sink has"},
    Field{"chunks_dropped", &Counters::chunks_dropped, "Chunks refused for want of a slot"},
    Field{"bytes_in", &Counters::bytes_in, "Original bytes submitted"},
    Field{"bytes_done", &Counters::bytes_done, "Original bytes that the sink has"},
    Field{"bytes_out", &Counters::bytes_out, "Coded bytes that the sink has"},
    Field{"parts_out", &Counters::parts_out, "Tensor parts that the sink has"},
    Field{"parts_stored", &Counters::parts_stored, "Parts that coding did not shrink"},
    Field{"stalls", &Counters::stalls, "Times a producer waited for a slot"},
    Field{.name = "stall_ns",
          .value = &Counters::stall_ns,
          .help = "Time that producers waited for slots",
          .is_ns = true},
    Field{"pageable_copies", &Counters::pageable_copies, "Copies from or to pageable memory"},
    Field{"regrown_buffers", &Counters::regrown_buffers, "Working buffers that had to grow"},
    Field{"device_slots", &Counters::device_slots, "Device slots", true},
    Field{"device_slots_peak", &Counters::device_slots_peak, "Most device slots in use", true},
    Field{"host_slots", &Counters::host_slots, "Host slots", true},
    Field{"host_slots_peak", &Counters::host_slots_peak, "Most host slots in use", true},
    Field{"coded_slots", &Counters::coded_slots, "Coded slots", true},
    Field{"coded_slots_peak", &Counters::coded_slots_peak, "Most coded slots in use", true},
};
static_assert(sizeof(Counters) == fields.size() * sizeof(std::uint64_t), "a field is missing");

}  // namespace

std::string Counters::to_json() const {
  std::string text;
  auto out = std::back_inserter(text);
  for (const Field& field : fields) {
    fmt::format_to(out, "{}\"{}\":{}", text.empty() ? '{' : ',', field.name, this->*field.value);
  }
  return text + "}";
}

std::string Counters::to_prometheus(std::string_view prefix) const {
  std::string text;
  auto out = std::back_inserter(text);
  for (const Field& field : fields) {
    const std::string name =
        fmt::format("{}_{}{}", prefix, field.is_ns ? "stall_seconds" : field.name,
                    field.is_gauge ? "" : "_total");
    fmt::format_to(out, "# HELP {} {}.\n# TYPE {} {}\n", name, field.help, name,
                   field.is_gauge ? "gauge" : "counter");
    if (field.is_ns) {
      fmt::format_to(out, "{} {:.9f}\n", name, static_cast<double>(this->*field.value) * 1e-9);
    } else {
      fmt::format_to(out, "{} {}\n", name, this->*field.value);
    }
  }
  return text;
}

}  // namespace offramp
