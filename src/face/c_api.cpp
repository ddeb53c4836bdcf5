// SPDX-License-Identifier: Apache-2.0
// The C interface: handles over the C++ types, and a wall that no exception passes.
#include "core/checks.hpp"
#include "face/c_convert.hpp"

#include <offramp/offramp.h>
#include <offramp/offramp.hpp>

#include <cstring>
#include <memory>
#include <new>
#include <string>

struct ofr_buffer {
  std::vector<std::byte> bytes;
};

struct ofr_ticket {
  offramp::Ticket ticket;
};

struct ofr_writer {
  offramp::Codec codec;
  offramp::ArchiveWriter archive;
  offramp::Device& device;
  offramp::Stream stream;
  offramp::Pipeline pipeline;

  ofr_writer(const char* path, const ofr_options& options)
      : codec(offramp::Codec::from_name(options.codec).value()),
        archive(path, options.overwrite ? offramp::OutputFile::Existing::overwrite
                                        : offramp::OutputFile::Existing::refuse),
        device(*offramp::find_device("host").value()),
        stream(device.make_stream()),
        pipeline({.device = &device,
                  .chunk_size = options.chunk_size,
                  .device_slots = 0,
                  .host_slots = options.host_slots,
                  .threads = options.threads,
                  // The archive is this handle's: no thread may be left behind with it.
                  .abandon_after = std::chrono::milliseconds::max()},
                 codec, std::make_shared<offramp::ArchiveSink>(archive, codec)) {}
};

struct ofr_reader {
  offramp::ArchiveReader archive;
  offramp::Workers workers;
};

namespace {

using offramp::face::guarded;
using offramp::face::to_desc;

ofr_status copy_desc(const offramp::TensorDesc& from, ofr_tensor_desc* to) {
  if (to) *to = offramp::face::from_desc(from);
  return OFR_OK;
}

const offramp::ArchiveTensor& tensor_at(const ofr_reader& reader, size_t index) {
  const auto tensors = reader.archive.tensors();
  OFFRAMP_EXPECTS(index < tensors.size(), "the archive has no tensor of that number");
  return tensors[index];
}

std::span<const std::byte> bytes_of(const void* data, size_t size) {
  OFFRAMP_EXPECTS(data || size == 0, "data is NULL");
  return {static_cast<const std::byte*>(data), size};
}

}  // namespace

extern "C" {

const char* ofr_version(void) { return OFFRAMP_VERSION; }

const char* ofr_last_error(void) { return offramp::face::last_error(); }

size_t ofr_tensor_size(const ofr_tensor_desc* desc) {
  size_t size = 0;
  const ofr_status status = guarded([&] {
    OFFRAMP_EXPECTS(desc, "desc is NULL");
    size = to_desc(*desc).size();
  });
  return status == OFR_OK ? size : 0;
}

const void* ofr_buffer_data(const ofr_buffer* buffer) {
  return buffer ? buffer->bytes.data() : nullptr;
}

size_t ofr_buffer_size(const ofr_buffer* buffer) { return buffer ? buffer->bytes.size() : 0; }

void ofr_buffer_free(ofr_buffer* buffer) { delete buffer; }

ofr_status ofr_compress(const ofr_tensor_desc* desc, const void* data, size_t size,
                        const ofr_options* options, ofr_buffer** out) {
  return guarded([&] {
    OFFRAMP_EXPECTS(desc && out, "desc or out is NULL");
    const ofr_options set = offramp::face::with_defaults(options);
    *out = new ofr_buffer{offramp::compress({.desc = to_desc(*desc), .bytes = bytes_of(data, size)},
                                            {.codec = set.codec, .threads = set.threads})};
  });
}

ofr_status ofr_decompress(const void* archive, size_t size, const ofr_options* options,
                          ofr_tensor_desc* desc, ofr_buffer** out) {
  return guarded([&] {
    OFFRAMP_EXPECTS(out, "out is NULL");
    const ofr_options set = offramp::face::with_defaults(options);
    auto tensor = offramp::decompress(bytes_of(archive, size), {.threads = set.threads}).value();
    *out = new ofr_buffer{std::move(tensor.bytes)};
    copy_desc(tensor.desc, desc);
  });
}

ofr_status ofr_writer_open(const char* path, const ofr_options* options, ofr_writer** out) {
  return guarded([&] {
    OFFRAMP_EXPECTS(path && out, "path or out is NULL");
    *out = new ofr_writer(path, offramp::face::with_defaults(options));
  });
}

ofr_status ofr_writer_submit(ofr_writer* writer, const char* name, const ofr_tensor_desc* desc,
                             const void* data, size_t size, ofr_ticket** ticket) {
  return guarded([&] {
    OFFRAMP_EXPECTS(writer && name && desc, "writer, name or desc is NULL");
    const offramp::TensorDesc tensor = to_desc(*desc);
    const auto bytes = bytes_of(data, size);
    OFFRAMP_EXPECTS(tensor.size() == size, "size is not that of the tensor");
    const offramp::ChunkTensor chunk{
        .what = {.name = name, .tensor = tensor, .part = {.first_elem = 0, .desc = tensor}},
        .data = bytes.data()};
    auto handle = std::make_unique<ofr_ticket>();
    handle->ticket = writer->pipeline.submit(writer->stream, {.tensors = {&chunk, 1}});
    if (ticket) {
      *ticket = handle.release();
    } else {
      handle->ticket.wait_staged().value();
    }
  });
}

ofr_status ofr_ticket_wait_staged(ofr_ticket* ticket) {
  return guarded([&] {
    OFFRAMP_EXPECTS(ticket, "ticket is NULL");
    ticket->ticket.wait_staged().value();
  });
}

ofr_status ofr_ticket_wait_durable(ofr_ticket* ticket) {
  return guarded([&] {
    OFFRAMP_EXPECTS(ticket, "ticket is NULL");
    ticket->ticket.wait_durable().value();
  });
}

void ofr_ticket_free(ofr_ticket* ticket) { delete ticket; }

ofr_status ofr_writer_finish(ofr_writer* writer) {
  return guarded([&] {
    OFFRAMP_EXPECTS(writer, "writer is NULL");
    writer->pipeline.close();
  });
}

void ofr_writer_free(ofr_writer* writer) { delete writer; }

ofr_status ofr_reader_open(const char* path, const ofr_options* options, ofr_reader** out) {
  return guarded([&] {
    OFFRAMP_EXPECTS(path && out, "path or out is NULL");
    const ofr_options set = offramp::face::with_defaults(options);
    auto archive = offramp::ArchiveReader::open(path).value();
    if (!archive.complete()) throw offramp::DataError(archive.damage());
    *out = new ofr_reader{std::move(archive), offramp::Workers(set.threads)};
  });
}

size_t ofr_reader_count(const ofr_reader* reader) {
  return reader ? reader->archive.tensors().size() : 0;
}

ofr_status ofr_reader_tensor(const ofr_reader* reader, size_t index, const char** name,
                             ofr_tensor_desc* desc) {
  return guarded([&] {
    OFFRAMP_EXPECTS(reader, "reader is NULL");
    const offramp::ArchiveTensor& tensor = tensor_at(*reader, index);
    if (name) *name = tensor.name.c_str();
    copy_desc(tensor.desc, desc);
  });
}

ofr_status ofr_reader_find(const ofr_reader* reader, const char* name, size_t* index) {
  return guarded([&] {
    OFFRAMP_EXPECTS(reader && name && index, "reader, name or index is NULL");
    const offramp::ArchiveTensor* tensor = reader->archive.find(name);
    if (!tensor) {
      throw offramp::DataError({.code = offramp::ErrorCode::not_found,
                                .what = "no tensor is called '" + std::string(name) + "'",
                                .path = reader->archive.name(),
                                .remedy = {}});
    }
    *index = static_cast<size_t>(tensor - reader->archive.tensors().data());
  });
}

ofr_status ofr_reader_read(ofr_reader* reader, size_t index, void* out, size_t size) {
  return guarded([&] {
    OFFRAMP_EXPECTS(reader, "reader is NULL");
    const offramp::ArchiveTensor& tensor = tensor_at(*reader, index);
    OFFRAMP_EXPECTS(tensor.desc.size() == size, "out must hold exactly the tensor");
    OFFRAMP_EXPECTS(out || size == 0, "out is NULL");
    offramp::read_elems(reader->archive, {.tensor = tensor.name, .first_elem = 0},
                        {static_cast<std::byte*>(out), size}, reader->workers)
        .value();
  });
}

ofr_status ofr_reader_read_range(ofr_reader* reader, size_t index, uint64_t first, uint64_t count,
                                 void* out, size_t size) {
  return guarded([&] {
    OFFRAMP_EXPECTS(reader, "reader is NULL");
    const offramp::ArchiveTensor& tensor = tensor_at(*reader, index);
    const std::size_t elem_size = size_of(tensor.desc.dtype);
    OFFRAMP_EXPECTS(size % elem_size == 0 && size / elem_size == count,
                    "out must hold exactly the elements asked for");
    OFFRAMP_EXPECTS(out || size == 0, "out is NULL");
    offramp::read_elems(reader->archive, {.tensor = tensor.name, .first_elem = first},
                        {static_cast<std::byte*>(out), size}, reader->workers)
        .value();
  });
}

void ofr_reader_free(ofr_reader* reader) { delete reader; }

}  // extern "C"
