/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_OFFRAMP_H
#define OFFRAMP_OFFRAMP_H

/* The C face of offramp: one tensor in one call, archives read by name, and the asynchronous
 * writer.
 *
 * Stable ABI: handles are opaque, option structs begin with their size, numbers are never reused.
 * No C++ exception leaves a function: each returns OFR_OK or why not, and ofr_last_error() then
 * says in words, on the same thread, what failed, where, and what to do.
 *
 * Tensors are contiguous, row-major and little-endian. Handles are freed by their own ofr_*_free,
 * which accepts NULL. Different threads may use different handles; ofr_writer_submit and all
 * ofr_ticket_* functions may be called by several threads on one handle. */

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) || !defined(__GNUC__)
#define OFR_API
#else
#define OFR_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define OFR_MAX_RANK 16

typedef enum ofr_status {
  OFR_OK = 0,
  OFR_TRUNCATED = 1,
  OFR_BAD_MAGIC = 2,
  OFR_BAD_VERSION = 3,
  OFR_BAD_CHECKSUM = 4,
  OFR_BAD_HEADER = 5,
  OFR_LIMIT_EXCEEDED = 6,
  OFR_UNKNOWN_STAGE = 7,
  OFR_UNKNOWN_DTYPE = 8,
  OFR_CORRUPT_PAYLOAD = 9,
  OFR_NOT_FOUND = 10,
  OFR_BAD_NAME = 11,
  OFR_UNSUPPORTED = 12,
  OFR_DUPLICATE = 13,
  OFR_MISMATCH = 14,
  OFR_CANCELLED = 15,
  OFR_IO = 16,
  OFR_OUT_OF_MEMORY = 17,
  OFR_LOGIC = 18, /* an argument that breaks what this header asks for */
  OFR_DEVICE = 19,
  OFR_UNEXPECTED = 255
} ofr_status;

typedef enum ofr_dtype {
  OFR_BF16 = 1,
  OFR_FP16 = 2,
  OFR_FP32 = 3,
  OFR_FP64 = 4,
  OFR_FP8_E4M3 = 5,
  OFR_FP8_E5M2 = 6,
  OFR_U8 = 7,
  OFR_I8 = 8,
  OFR_I16 = 9,
  OFR_I32 = 10,
  OFR_I64 = 11,
  OFR_BOOL = 12,
  OFR_U16 = 13,
  OFR_U32 = 14,
  OFR_U64 = 15
} ofr_dtype;

/* What a tensor is. Channels are the last axis. */
typedef struct ofr_tensor_desc {
  uint32_t dtype; /* an ofr_dtype */
  uint32_t rank;  /* 0 (a scalar) to OFR_MAX_RANK */
  uint64_t extents[OFR_MAX_RANK];
} ofr_tensor_desc;

/* Set struct_size to sizeof of the struct and the rest to zero for the defaults. */
typedef struct ofr_options {
  size_t struct_size;
  const char* codec; /* "store", "exact" or "exact-dense"; NULL: "exact" */
  size_t threads;    /* 0: one for each processor this process may run on */
  size_t chunk_size; /* bytes of a chunk; 0: 8 MiB */
  size_t host_slots; /* chunks in flight; 0: the default */
  int overwrite;     /* nonzero: an existing file may be replaced */
} ofr_options;

/* Version of the library, "MAJOR.MINOR.PATCH". */
OFR_API const char* ofr_version(void);

/* The last failure on this thread, in words; "" if there was none. Valid until the thread's next
 * call. */
OFR_API const char* ofr_last_error(void);

/* Bytes of a tensor with that description, or 0 if it is unsound or empty. */
OFR_API size_t ofr_tensor_size(const ofr_tensor_desc* desc);

/* ---- one tensor in one call ---- */

typedef struct ofr_buffer ofr_buffer;
OFR_API const void* ofr_buffer_data(const ofr_buffer* buffer);
OFR_API size_t ofr_buffer_size(const ofr_buffer* buffer);
OFR_API void ofr_buffer_free(ofr_buffer* buffer);

/* Codes the tensor at `data`, `size` bytes, into a new buffer that holds a whole archive of that
 * one tensor: dtype, shape and checksums travel with it. `options` may be NULL. */
OFR_API ofr_status ofr_compress(const ofr_tensor_desc* desc, const void* data, size_t size,
                                const ofr_options* options, ofr_buffer** out);

/* Restores the tensor of an archive that holds exactly one. `desc` may be NULL. The bytes are
 * untrusted. */
OFR_API ofr_status ofr_decompress(const void* archive, size_t size, const ofr_options* options,
                                  ofr_tensor_desc* desc, ofr_buffer** out);

/* ---- many tensors, written while the caller goes on ---- */

typedef struct ofr_writer ofr_writer;
typedef struct ofr_ticket ofr_ticket;

/* Begins an archive at `path`. The name appears when ofr_writer_finish returns OFR_OK. */
OFR_API ofr_status ofr_writer_open(const char* path, const ofr_options* options, ofr_writer** out);

/* Hands over one whole tensor and returns once it is staged in the writer's slots, or as soon as it
 * is queued if `ticket` is not NULL: then `data` must stay unchanged until ofr_ticket_wait_staged
 * returns. Waits while all slots are full. */
OFR_API ofr_status ofr_writer_submit(ofr_writer* writer, const char* name,
                                     const ofr_tensor_desc* desc, const void* data, size_t size,
                                     ofr_ticket** ticket);

/* Waits until `data` may be reused. */
OFR_API ofr_status ofr_ticket_wait_staged(ofr_ticket* ticket);
/* Waits until the file has the tensor. */
OFR_API ofr_status ofr_ticket_wait_durable(ofr_ticket* ticket);
/* Frees the handle; the tensor is still written. */
OFR_API void ofr_ticket_free(ofr_ticket* ticket);

/* Waits for all tensors, writes the index and gives the file its name. */
OFR_API ofr_status ofr_writer_finish(ofr_writer* writer);
/* Frees the writer; one that was not finished leaves no file. */
OFR_API void ofr_writer_free(ofr_writer* writer);

/* ---- archives, read by name ---- */

typedef struct ofr_reader ofr_reader;

OFR_API ofr_status ofr_reader_open(const char* path, const ofr_options* options, ofr_reader** out);
OFR_API size_t ofr_reader_count(const ofr_reader* reader);
/* Name (NUL-terminated, the reader's own) and description of tensor `index`; either may be NULL. */
OFR_API ofr_status ofr_reader_tensor(const ofr_reader* reader, size_t index, const char** name,
                                     ofr_tensor_desc* desc);
OFR_API ofr_status ofr_reader_find(const ofr_reader* reader, const char* name, size_t* index);
/* Restores a whole tensor into `out`, which holds exactly its size. */
OFR_API ofr_status ofr_reader_read(ofr_reader* reader, size_t index, void* out, size_t size);
/* Restores `count` elements from `first` on (row-major), touching only the records and blocks that
 * hold them. */
OFR_API ofr_status ofr_reader_read_range(ofr_reader* reader, size_t index, uint64_t first,
                                         uint64_t count, void* out, size_t size);
OFR_API void ofr_reader_free(ofr_reader* reader);

#ifdef __cplusplus
}
#endif

#endif /* OFFRAMP_OFFRAMP_H */
