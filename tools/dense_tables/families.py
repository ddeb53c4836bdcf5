# SPDX-License-Identifier: Apache-2.0
"""The data that the class tables of exact-dense are trained and judged on.

A matrix is a uint16 array of bf16 patterns, rows x channels. Synthetic families span the shapes that
channels of models take; the held-out ones share no generator with those that are trained on.
"""
import numpy as np
import torch

ROWS = 256


def bf16(x):
    return torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32)).bfloat16().view(torch.int16).numpy().view(np.uint16)


def load(path):
    """The matrices of a safetensors file of bf16 tensors, one a group, cut to whole tiles."""
    from safetensors.torch import load_file

    out = []
    for tensor in load_file(path).values():
        if tensor.dtype != torch.bfloat16 or tensor.ndim < 2:
            continue
        bits = tensor.contiguous().view(torch.int16).numpy().view(np.uint16)
        for m in bits.reshape(-1, *bits.shape[-2:]):
            if m.shape[1] % 64 == 0 and m.shape[0] >= ROWS:
                out.append(m)
    return out


def scales(rng, channels):
    return np.exp2(rng.uniform(-9, 5, channels))


def training_families(rng, channels=256, rows=1024):
    n = (rows, channels)
    normal = rng.standard_normal
    signs = rng.choice([-1.0, 1.0], channels)
    f = {}
    f["gauss"] = normal(n)
    f["laplace"] = rng.laplace(size=n)
    for nu in (2, 3, 5):
        f[f"t{nu}"] = rng.standard_t(nu, n)
    f["uniform"] = rng.uniform(-1, 1, n)
    f["rowmix"] = normal(n) * np.exp(0.7 * normal((rows, 1)))
    f["valmix"] = normal(n) * np.exp(1.0 * normal(n))
    f["product"] = normal(n) * normal(n)
    for shift in (0.3, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 9.0):
        f[f"shift{shift}"] = normal(n) + shift * signs
    f["shiftany"] = normal(n) + rng.uniform(0, 12, channels) * signs
    f["half"] = np.abs(normal(n)) * signs
    return {k: bf16(v * scales(rng, channels)) for k, v in f.items()}


def held_out_families(rng, channels=256, rows=1024):
    n = (rows, channels)
    normal = rng.standard_normal
    x = normal(n)
    f = {}
    f["logistic"] = rng.logistic(size=n)
    f["t4"] = rng.standard_t(4, n)
    f["cauchy"] = rng.standard_cauchy(n)
    f["triangular"] = rng.triangular(-1, 0, 1, n)
    f["twoscale"] = normal(n) * rng.choice([0.1, 1.0], n)
    f["bimodal"] = normal(n) * 0.4 + rng.choice([-1.0, 1.0], n)
    f["gumbel"] = rng.gumbel(size=n)
    f["silu"] = x / (1 + np.exp(-x))
    f["gamma"] = rng.gamma(2.0, size=n)
    f["skewshift"] = rng.laplace(size=n) + rng.uniform(-3, 3, channels)
    f["sine"] = np.sin(rng.uniform(0, 6.3, n))
    return {k: bf16(v * scales(rng, channels)) for k, v in f.items()}
