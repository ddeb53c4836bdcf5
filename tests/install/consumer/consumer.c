/* SPDX-License-Identifier: Apache-2.0 */

/* The same from C, against the installed C header. */

#include <offramp/offramp.h>

#include <stdio.h>
#include <string.h>

int main(void) {
  static unsigned char values[512 * 64 * 2];
  ofr_tensor_desc desc = {OFR_BF16, 2, {512, 64}}, restored_desc;
  ofr_buffer *packed = NULL, *restored = NULL;
  size_t i;
  int equal;
  for (i = 0; i < sizeof values; ++i) values[i] = (unsigned char)(i % 2 ? 0x3f : i * i / 7);

  if (ofr_compress(&desc, values, sizeof values, NULL, &packed) != OFR_OK ||
      ofr_decompress(ofr_buffer_data(packed), ofr_buffer_size(packed), NULL, &restored_desc,
                     &restored) != OFR_OK) {
    fprintf(stderr, "%s\n", ofr_last_error());
    return 1;
  }
  printf("C: %zu -> %zu bytes\n", sizeof values, ofr_buffer_size(packed));
  equal = ofr_buffer_size(restored) == sizeof values && restored_desc.extents[0] == 512 &&
          memcmp(ofr_buffer_data(restored), values, sizeof values) == 0;
  ofr_buffer_free(packed);
  ofr_buffer_free(restored);
  if (!equal) fprintf(stderr, "C: not restored\n");
  return equal ? 0 : 1;
}
