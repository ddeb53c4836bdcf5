# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

import offramp

RNG = np.random.default_rng(3)
ARRAYS = {
    "f32": RNG.standard_normal((3, 100, 64)).astype(np.float32),
    "f16": RNG.standard_normal((300, 64)).astype(np.float16),
    "f64": RNG.standard_normal(1000),
    "u8": RNG.integers(0, 256, (7, 11), np.uint8),
    "i64": RNG.integers(-5, 5, (20, 20)),
    "bool": RNG.integers(0, 2, 100).astype(bool),
    "scalar": np.array(3.5, np.float32),
    "empty": np.zeros((0, 4), np.int32),
}


@pytest.mark.parametrize("codec", ["store", "exact", "exact-dense"])
def test_arrays_round_trip(tmp_path, codec):
    path = tmp_path / "a.ofr"
    tensors, size = offramp.pack(ARRAYS, path, codec=codec, metadata={"model": "test"})
    assert tensors == len(ARRAYS)
    assert size == sum(array.nbytes for array in ARRAYS.values())
    back = offramp.unpack(path)
    assert list(back) == list(ARRAYS)
    for name, array in ARRAYS.items():
        got = back[name].numpy()
        assert got.dtype == array.dtype and got.shape == array.shape
        np.testing.assert_array_equal(got, array)
    with offramp.open(path) as archive:
        assert archive.complete
        assert archive.metadata == {"model": "test"}
        assert len(archive) == len(ARRAYS) and "f32" in archive and "f33" not in archive


def test_bfloat16_through_torch(tmp_path):
    torch = pytest.importorskip("torch")
    tensor = torch.randn(128, 64, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)
    offramp.pack({"w": tensor, "t": tensor.T}, tmp_path / "a.ofr")
    with offramp.open(tmp_path / "a.ofr") as archive:
        got = archive["w"]
        assert got.dtype == "bf16" and got.shape == (128, 64)
        assert torch.equal(got.torch(), tensor)
        assert torch.equal(archive["t"].torch(), tensor.T)
        with pytest.raises(TypeError, match="bf16"):
            got.numpy()
        np.testing.assert_array_equal(got.bits(), tensor.view(torch.uint16).numpy())


def test_rows(tmp_path):
    offramp.pack(ARRAYS, tmp_path / "a.ofr")
    with offramp.open(tmp_path / "a.ofr") as archive:
        got = archive.rows("f16", 100, 250)
        assert got.shape == (150, 64)
        np.testing.assert_array_equal(got.numpy(), ARRAYS["f16"][100:250])
        np.testing.assert_array_equal(archive.rows("f32", 1, 2).numpy(), ARRAYS["f32"][1:2])
        for start, stop in ((0, 301), (-1, 3), (5, 4)):
            with pytest.raises(IndexError):
                archive.rows("f16", start, stop)
        with pytest.raises(IndexError):
            archive.rows("scalar", 0, 1)
        with pytest.raises(KeyError):
            archive["nothing"]


def test_arrays_outlive_their_archive(tmp_path):
    offramp.pack(ARRAYS, tmp_path / "a.ofr")
    archive = offramp.open(tmp_path / "a.ofr")
    array = archive["f32"].numpy()
    archive.close()
    with pytest.raises(ValueError, match="closed"):
        archive["f32"]
    np.testing.assert_array_equal(array, ARRAYS["f32"])


def test_files(tmp_path):
    np.save(tmp_path / "w.npy", ARRAYS["f32"])
    offramp.pack(tmp_path / "w.npy", tmp_path / "a.ofr")
    tensors, size = offramp.unpack(tmp_path / "a.ofr", tmp_path / "b.npy")
    assert (tensors, size) == (1, ARRAYS["f32"].nbytes)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), ARRAYS["f32"])
    with pytest.raises(OSError):
        offramp.unpack(tmp_path / "a.ofr", tmp_path / "b.npy")
    with pytest.raises(OSError):
        offramp.pack(tmp_path / "w.npy", tmp_path / "a.ofr")


def test_damage_is_an_error_and_not_an_array(tmp_path):
    path = tmp_path / "a.ofr"
    offramp.pack({"w": ARRAYS["f32"]}, path, codec="store")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with offramp.open(path) as archive, pytest.raises(offramp.DataError) as caught:
        archive["w"]
    assert caught.value.code == "bad_checksum"
    path.write_bytes(b"nothing")
    with pytest.raises(offramp.DataError):
        offramp.open(path)
    with pytest.raises(FileNotFoundError):
        offramp.open(tmp_path / "absent.ofr")


def test_what_cannot_be_packed(tmp_path):
    path = tmp_path / "a.ofr"
    with pytest.raises(TypeError):
        offramp.pack({"w": np.zeros(3, np.complex64)}, path)
    with pytest.raises(TypeError):
        offramp.pack({"w": "text"}, path)
    with pytest.raises(offramp.DataError):
        offramp.pack({"w": np.zeros(3)}, path, codec="unknown")
    assert not path.exists()
