// SPDX-License-Identifier: Apache-2.0
#include "interruptible.hpp"
#include "writer.hpp"

#include <offramp/container/archive_reader.hpp>
#include <offramp/container/archive_writer.hpp>
#include <offramp/core/error.hpp>
#include <offramp/core/workers.hpp>
#include <offramp/engine/jobs.hpp>
#include <offramp/transport/memory_source.hpp>
#include <offramp/transport/transport.hpp>

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <new>
#include <tuple>

namespace offramp::python {
namespace {

// Speaks DLPack and the buffer protocol.
using Array = nb::ndarray<nb::array_api>;

// A job's answer: tensors and bytes of theirs.
using Report = std::pair<std::uint64_t, std::uint64_t>;

Report report_of(Result<JobReport> result) {
  const JobReport report = std::move(result).value();
  return {report.tensors, report.bytes};
}

Report run_job(std::size_t threads, const std::function<Result<JobReport>(JobSettings&)>& job) {
  std::stop_source stop;
  JobSettings settings;
  settings.threads = threads;
  settings.cancel = stop.get_token();
  Report report;
  interruptible([&] { report = report_of(job(settings)); }, [&] { stop.request_stop(); });
  return report;
}

OutputFile::Existing existing(bool overwrite) {
  return overwrite ? OutputFile::Existing::overwrite : OutputFile::Existing::refuse;
}

Report pack_from(TensorSource& source, const std::string& out, const std::string& codec,
                 bool overwrite, std::size_t threads) {
  const Codec chain = Codec::from_name(codec).value();
  return run_job(threads, [&](JobSettings& settings) {
    ArchiveWriter writer(out, existing(overwrite));
    return pack(source, writer, chain, settings);
  });
}

Report pack_arrays(const std::vector<std::pair<std::string, nb::object>>& arrays,
                   const std::string& out, const std::string& codec, Metadata metadata,
                   bool overwrite, std::size_t threads) {
  std::vector<std::shared_ptr<const HeldArray>> held;
  std::vector<NamedTensor> tensors;
  for (const auto& [name, object] : arrays) {
    const dlpack::Device place = device_of(object);
    if (place.type != dlpack::cpu && place.type != dlpack::cuda_host) {
      throw nb::value_error(("tensor \"" + name + "\" is not on the host: move it there").c_str());
    }
    held.push_back(hold(object, nullptr));
    const HeldArray& array = *held.back();
    if (!array.is_contiguous()) {
      throw nb::value_error(("tensor \"" + name + "\" is not contiguous").c_str());
    }
    const TensorDesc desc{array.dtype(), Shape(array.shape())};
    tensors.push_back({name, {desc, {array.data(), desc.size()}}});
  }
  Report report;
  {
    MemorySource source(std::move(tensors), std::move(metadata), "arrays");
    report = pack_from(source, out, codec, overwrite, threads);
  }
  held.clear();
  release_finished();
  return report;
}

Report pack_file(const std::string& path, const std::string& out, const std::string& codec,
                 bool overwrite, std::size_t threads) {
  const auto source = open_source(path).value();
  return pack_from(*source, out, codec, overwrite, threads);
}

Report unpack_file(const std::string& path, const std::string& out, bool overwrite,
                   std::size_t threads) {
  const ArchiveReader reader = ArchiveReader::open(path).value();
  const auto sink = make_sink(out, {.format = {}, .overwrite = overwrite}).value();
  return run_job(threads, [&](JobSettings& settings) { return unpack(reader, *sink, settings); });
}

// An archive that is read as it is asked for.
class Archive {
 public:
  Archive(const std::string& path, std::size_t threads)
      : reader_(ArchiveReader::open(path).value()), workers_(threads) {}

  [[nodiscard]] const ArchiveReader& reader() const noexcept { return reader_; }

  [[nodiscard]] const ArchiveTensor& find(const std::string& name) const {
    const ArchiveTensor* const tensor = reader_.find(name);
    if (!tensor) throw nb::key_error(name.c_str());
    return *tensor;
  }

  // Rows, where `rows` is set, of all axes but the first: else everything.
  Array read(const std::string& name, std::uint64_t first, std::uint64_t count, bool by_rows) {
    const TensorDesc& desc = find(name).desc;
    std::vector<std::size_t> shape(desc.shape.extents().begin(), desc.shape.extents().end());
    std::uint64_t row_elems = desc.shape.elems();
    if (by_rows) {
      if (shape.empty() || first > shape[0] || count > shape[0] - first) {
        throw nb::index_error("rows outside the tensor");
      }
      row_elems = 1;
      for (std::size_t axis = 1; axis < shape.size(); ++axis) row_elems *= shape[axis];
      shape[0] = static_cast<std::size_t>(count);
    }
    const std::size_t size =
        static_cast<std::size_t>(by_rows ? count * row_elems : row_elems) * size_of(desc.dtype);
    std::unique_ptr<std::byte[]> bytes(new (std::nothrow) std::byte[size == 0 ? 1 : size]);
    if (!bytes) throw OutOfMemory(size, "a tensor");
    interruptible(
        [&] {
          read_elems(reader_, {name, by_rows ? first * row_elems : 0}, {bytes.get(), size},
                     workers_)
              .value();
        },
        [] {});
    const dlpack::DataType type = dlpack_type(desc.dtype);
    const nb::capsule owner(bytes.get(),
                            [](void* data) noexcept { delete[] static_cast<std::byte*>(data); });
    std::byte* const data = bytes.release();
    return Array(data, shape.size(), shape.data(), owner, nullptr,
                 nb::dlpack::dtype{type.code, type.bits, type.lanes}, nb::device::cpu::value, 0);
  }

 private:
  ArchiveReader reader_;
  Workers workers_;
};

std::vector<std::string> names_of(const Archive& archive) {
  std::vector<std::string> names;
  for (const ArchiveTensor& tensor : archive.reader().tensors()) names.push_back(tensor.name);
  return names;
}

// dtype, shape, and bytes in the archive.
std::tuple<std::string, nb::tuple, std::uint64_t> describe(const Archive& archive,
                                                           const std::string& name) {
  const ArchiveTensor& tensor = archive.find(name);
  nb::list shape;
  for (const std::uint64_t extent : tensor.desc.shape.extents()) shape.append(extent);
  return {std::string(name_of(tensor.desc.dtype)), nb::tuple(shape), tensor.stored_size()};
}

// The same memory, as unsigned integers.
Array bits_of(nb::object array) {
  const auto values = nb::cast<nb::ndarray<>>(array);
  std::vector<std::size_t> shape;
  for (std::size_t axis = 0; axis < values.ndim(); ++axis) shape.push_back(values.shape(axis));
  nb::dlpack::dtype type = values.dtype();
  type.code = dlpack::unsigned_integer;
  return Array(values.data(), shape.size(), shape.data(), array, nullptr, type,
               nb::device::cpu::value, 0);
}

}  // namespace

void bind_archives(nb::module_& module) {
  nb::class_<Archive>(module, "Archive", "What offramp.Archive is made of.")
      .def(nb::init<const std::string&, std::size_t>(), nb::arg("path"), nb::arg("threads") = 0)
      .def("names", names_of)
      .def("describe", describe, nb::arg("name"))
      .def("read", &Archive::read, nb::arg("name"), nb::arg("first") = 0, nb::arg("count") = 0,
           nb::arg("by_rows") = false)
      .def("metadata", [](const Archive& archive) { return archive.reader().metadata().value(); })
      .def_prop_ro("complete", [](const Archive& archive) { return archive.reader().complete(); })
      .def_prop_ro("size", [](const Archive& archive) { return archive.reader().size(); });
  module.def("bits_of", bits_of, nb::arg("array"));
  module.def("pack_arrays", pack_arrays, nb::arg("arrays"), nb::arg("out"), nb::arg("codec"),
             nb::arg("metadata"), nb::arg("overwrite"), nb::arg("threads"));
  module.def("pack_file", pack_file, nb::arg("path"), nb::arg("out"), nb::arg("codec"),
             nb::arg("overwrite"), nb::arg("threads"));
  module.def("unpack_file", unpack_file, nb::arg("path"), nb::arg("out"), nb::arg("overwrite"),
             nb::arg("threads"));
}

}  // namespace offramp::python
