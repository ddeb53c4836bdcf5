/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface: one tensor in one call, then an archive of several, read by name and by range.
 */
#include <offramp/offramp.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 300
#define CHANNELS 96

static void check(ofr_status status, const char* what) {
  if (status == OFR_OK) return;
  fprintf(stderr, "%s failed (%d): %s\n", what, (int)status, ofr_last_error());
  exit(1);
}

static void check_equal(const void* a, const void* b, size_t size, const char* what) {
  if (memcmp(a, b, size) == 0) return;
  fprintf(stderr, "%s came back different\n", what);
  exit(1);
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "c_archive.ofr";
  static float values[ROWS * CHANNELS];
  static float restored[ROWS * CHANNELS];
  for (size_t i = 0; i < ROWS * CHANNELS; ++i) {
    values[i] = (float)(i % 251) / 16.0f * (i % 2 ? 1.0f : -1.0f);
  }
  ofr_tensor_desc desc = {OFR_FP32, 2, {ROWS, CHANNELS}};
  const size_t size = ofr_tensor_size(&desc);

  /* One tensor in one call. */
  ofr_buffer* packed = NULL;
  ofr_buffer* back = NULL;
  ofr_tensor_desc got;
  check(ofr_compress(&desc, values, size, NULL, &packed), "ofr_compress");
  check(ofr_decompress(ofr_buffer_data(packed), ofr_buffer_size(packed), NULL, &got, &back),
        "ofr_decompress");
  if (got.dtype != OFR_FP32 || got.rank != 2 || ofr_buffer_size(back) != size) {
    fprintf(stderr, "the description came back different\n");
    return 1;
  }
  check_equal(ofr_buffer_data(back), values, size, "the tensor");
  printf("%zu bytes -> %zu\n", size, ofr_buffer_size(packed));
  ofr_buffer_free(packed);
  ofr_buffer_free(back);

  /* Several, written while the caller goes on. */
  ofr_options options = {0};
  options.struct_size = sizeof options;
  options.codec = "exact-dense";
  options.overwrite = 1;
  ofr_writer* writer = NULL;
  ofr_ticket* ticket = NULL;
  check(ofr_writer_open(path, &options, &writer), "ofr_writer_open");
  check(ofr_writer_submit(writer, "first", &desc, values, size, NULL), "ofr_writer_submit");
  check(ofr_writer_submit(writer, "second", &desc, values, size, &ticket), "ofr_writer_submit");
  check(ofr_ticket_wait_staged(ticket), "ofr_ticket_wait_staged"); /* values may change now */
  check(ofr_ticket_wait_durable(ticket), "ofr_ticket_wait_durable");
  ofr_ticket_free(ticket);
  check(ofr_writer_finish(writer), "ofr_writer_finish");
  ofr_writer_free(writer);

  /* Read by name; then only rows 100 to 199. */
  ofr_reader* reader = NULL;
  size_t index = 0;
  check(ofr_reader_open(path, NULL, &reader), "ofr_reader_open");
  check(ofr_reader_find(reader, "second", &index), "ofr_reader_find");
  check(ofr_reader_read(reader, index, restored, size), "ofr_reader_read");
  check_equal(restored, values, size, "the tensor 'second'");
  check(ofr_reader_read_range(reader, index, 100 * CHANNELS, 100 * CHANNELS, restored,
                              100 * CHANNELS * sizeof(float)),
        "ofr_reader_read_range");
  check_equal(restored, values + 100 * CHANNELS, 100 * CHANNELS * sizeof(float), "the rows");
  if (ofr_reader_find(reader, "third", &index) != OFR_NOT_FOUND) {
    fprintf(stderr, "a tensor that is not there was found\n");
    return 1;
  }
  printf("%s: %zu tensors; as expected: %s\n", path, ofr_reader_count(reader), ofr_last_error());
  ofr_reader_free(reader);
  return 0;
}
