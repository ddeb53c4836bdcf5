# SPDX-License-Identifier: Apache-2.0
"""Other lossless compressors, each with the settings that suit floats best. One thread each.

A peer is (name, encode(bytes) -> coded, decode(coded) -> bytes). What is not installed is left out
and named in `missing`.
"""
import warnings

missing = {}


def _zstd(level):
    import zstandard
    encoder, decoder = zstandard.ZstdCompressor(level=level), zstandard.ZstdDecompressor()
    return encoder.compress, decoder.decompress


def _lz4():
    import lz4.frame
    return lz4.frame.compress, lz4.frame.decompress


def _blosc2(width):
    import blosc2
    blosc2.set_nthreads(1)

    def encode(data):
        return blosc2.compress2(data, typesize=width, codec=blosc2.Codec.ZSTD, clevel=5,
                                filters=[blosc2.Filter.SHUFFLE], nthreads=1)
    return encode, blosc2.decompress2


def _pcodec(width):
    import numpy
    from pcodec import ChunkConfig, standalone
    dtype = numpy.dtype(f"<u{width}")

    def encode(data):
        return standalone.simple_compress(numpy.frombuffer(data, dtype), ChunkConfig())

    def decode(coded):
        return standalone.simple_decompress(coded).tobytes()
    return encode, decode


def zipnn(dtype):
    """ZipNN with one thread. It changes its input in place, so it is given a copy."""
    name = {"BF16": "bfloat16", "F16": "float16", "F32": "float32"}[dtype]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from zipnn import ZipNN
    coder = ZipNN(bytearray_dtype=name, input_format="byte", threads=1)
    return coder.compress, coder.decompress


def all_peers(width, dtype):
    rows = [
        ("zstd -1", lambda: _zstd(1)),
        ("zstd -3", lambda: _zstd(3)),
        ("lz4", _lz4),
        ("blosc2 shuffle+zstd", lambda: _blosc2(width)),
        ("ZipNN", lambda: zipnn(dtype)),
        ("pcodec", lambda: _pcodec(width)),
    ]
    for name, make in rows:
        try:
            encode, decode = make()
        except (ImportError, KeyError) as reason:
            missing[name] = str(reason)
            continue
        yield name, encode, decode
