# SPDX-License-Identifier: Apache-2.0
"""Trains the 16 static classes of exact-dense and writes src/codec/exact_dense/dense_tables.inc.

    python3 tools/dense_tables/train.py --data DIR --out src/codec/exact_dense/dense_tables.inc

DIR holds bf16 captures kv_code_1024, hidden_docs_1024 and grad_docs_512 (trained on) and kv_docs_1024
(judged on, never trained on). The names of classes, the symbols and the costs are those of
src/codec/exact_dense/spec.md. The result depends on the data, the seed and the versions of numpy and torch.
"""
import argparse

import numpy as np
import torch

import families

STATES = 1024
CLASSES = 16
DISTANCES = 15  # at most, in a class
MOST = 512  # states of one symbol: a decoder's entry then takes 16 bits
PAYLOAD = 11.0  # bits of an escape that is no zero
SHIFTS = 4  # tops tried: T + j
WINDOW = DISTANCES + SHIFTS - 1
FIRST_TOP = 0


def tiles(m):
    for a in range(0, m.shape[0] - families.ROWS + 1, families.ROWS):
        yield m[a : a + families.ROWS]


def sampled(x):
    return x.reshape(-1, 8, x.shape[1])[:, :2].reshape(-1, x.shape[1])


def channel_counts(matrices):
    """Per channel and tile: counts [sign, T + 3 - e, top mantissa bit], other escapes, zeros."""
    inside, escapes, zeros = [], [], []
    for m in matrices:
        for x in tiles(m):
            sign, e, top = (x >> 15).astype(int), ((x >> 7) & 255).astype(int), ((x >> 6) & 1).astype(int)
            change = sign ^ np.vstack([np.zeros((1, x.shape[1]), int), sign[:-1]])
            some = sampled(e != 0)
            n = some.sum(0)
            n1, d1 = (sampled(sign) * some).sum(0), (sampled(change) * some).sum(0)
            code_change = np.abs(2 * d1 - n) > np.abs(2 * n1 - n) + n // 16 + 4
            s = np.where(code_change, change, sign)
            groups = sampled(e).reshape(-1, 8, x.shape[1]).max(1)
            groups = np.sort(np.where(groups == 0, 256, groups), 0)
            live = (groups < 256).sum(0)
            t = np.where(live > 0, np.take_along_axis(groups, live[None] // 4, 0)[0], 0)
            d = t[None] + FIRST_TOP + SHIFTS - 1 - e
            zero = (e == 0) & (s == 0) & (top == 0)
            ok = (d >= 0) & (d < WINDOW) & ~zero
            c = np.broadcast_to(np.arange(x.shape[1]), x.shape)
            index = ((c * 2 + s) * WINDOW + np.clip(d, 0, WINDOW - 1)) * 2 + top
            h = np.bincount(index[ok], minlength=x.shape[1] * 4 * WINDOW).reshape(-1, 2, WINDOW, 2)
            inside.append(h.astype(np.float32))
            escapes.append((~ok & ~zero).sum(0).astype(np.float32))
            zeros.append(zero.sum(0).astype(np.float32))
    return [torch.from_numpy(np.concatenate(v)) for v in (inside, escapes, zeros)]


def fold(counts, j):
    """Counts of [sign, distance, top bit] x 60, of escapes and of zeros, for top = T + FIRST_TOP + j."""
    inside, escapes, zeros = counts
    first = SHIFTS - 1 - j
    seg = inside[:, :, first : first + DISTANCES]
    outside = inside.sum((1, 2, 3)) - seg.sum((1, 2, 3))
    return torch.cat([seg.reshape(len(seg), -1), (escapes + outside)[:, None], zeros[:, None]], 1)


def quantise(p):
    """Whole frequencies of 1 to MOST whose sum is STATES, best for p."""
    p = p / p.sum()
    f = np.clip(np.floor(p * STATES), 1, MOST).astype(int)
    while f.sum() != STATES:
        if f.sum() < STATES:
            f[np.where(f < MOST, p * np.log2((f + 1) / f), -1).argmax()] += 1
        else:
            f[np.where(f > 1, p * np.log2(f / np.maximum(f - 1, 1e-9)), 1e9).argmin()] -= 1
    return f


def make_class(a):
    """The best (distances, frequencies, cost vector of 62) for counts a [62]."""
    best = None
    h = a[:60].reshape(2, DISTANCES, 2)
    for count in range(2, DISTANCES + 1):
        kept = h[:, :count].reshape(-1)
        lost = h[:, count:].sum() + a[60]
        f = quantise(np.append(kept, lost + a[61]) + 1e-6 * a.sum())
        bits = -np.log2(f / STATES)
        cost = np.full((2, DISTANCES, 2), bits[-1] + PAYLOAD)
        cost[:, :count] = bits[:-1].reshape(2, count, 2)
        cost = np.concatenate([cost.reshape(-1), [bits[-1] + PAYLOAD, bits[-1] + 1]])
        total = float((cost * a).sum())
        if best is None or total < best[0]:
            best = (total, count, f, cost)
    return best[1:]


def mirror(a):
    return np.concatenate([a[:60].reshape(2, DISTANCES, 2)[::-1].reshape(-1), a[60:]])


def costs(classes):
    return torch.from_numpy(np.array([c[2] for c in classes], dtype=np.float32))


def assign(folds, cost):
    """Best class, shift and cost of each channel."""
    c = torch.stack([f @ cost.t() for f in folds])  # shift, channel, class
    flat = c.permute(1, 0, 2).reshape(c.shape[1], -1)
    best, at = flat.min(1)
    return best, at % CLASSES, at // CLASSES


def train(sets, symmetric, seed, rounds):
    """sets: (weight a value, counts). Classes below `symmetric` are their own mirror, then pairs."""
    rng = np.random.default_rng(seed)
    folds = [torch.cat([w * fold(c, j) for w, c in sets]) for j in range(SHIFTS)]
    weight = folds[0].sum(1)
    stack = torch.stack(folds)

    def finish(raw):
        out = []
        for k in range(CLASSES):
            partner = k if k < symmetric else symmetric + ((k - symmetric) ^ 1)
            a = raw[k] + mirror(raw[partner])
            out.append(make_class(a + 2e-4 * a.sum() / 62))
        return out

    prior = stack[1].sum(0).numpy().astype(float)
    prior = prior + mirror(prior)
    prior /= prior.sum()

    def seed_class(i):
        a = stack[1, i].numpy().astype(float)
        return a / a.sum() + 0.1 * prior

    raw = [prior] * CLASSES
    own = None
    for k in range(CLASSES):
        if k == 0:
            pick = int(rng.integers(len(weight)))
        else:
            best, _, _ = assign(folds, costs(finish(raw)))
            if own is None:
                q = stack[1] / stack[1].sum(1, keepdim=True).clamp_min(1e-9)
                own = -(stack[1] * torch.log2(q.clamp_min(1e-9))).sum(1)
            excess = (best - own).clamp_min(0).numpy().astype(float)
            pick = int(rng.choice(len(excess), p=excess / excess.sum()))
        if k < symmetric or (k - symmetric) % 2 == 0:
            for l in range(k, CLASSES):
                raw[l] = seed_class(pick) if l < symmetric or (l - symmetric) % 2 == 0 else mirror(seed_class(pick))
    total = None
    for _ in range(rounds):
        classes = finish(raw)
        best, k, j = assign(folds, costs(classes))
        total = float(best.sum() / weight.sum())
        chosen = stack[j, torch.arange(len(j))]
        raw = [chosen[k == i].sum(0).numpy().astype(float) + 1e-3 * prior for i in range(CLASSES)]
    return total, classes


def judge(name, counts, classes):
    folds = [fold(counts, j) for j in range(SHIFTS)]
    best, k, j = assign(folds, costs(classes))
    n = float(folds[0].sum())
    bits = float(best.sum()) / n + 6 + 72 * 8 / 16384 + 20 * 8 / 16384 + 20 * 8 / 16384
    print(f"{name:14s} {16 / bits:.4f}  shifts {torch.bincount(j, minlength=SHIFTS).tolist()}"
          f"  classes {torch.bincount(k, minlength=CLASSES).tolist()}", flush=True)


def choice_costs(count, f):
    """Costs in 1/12 bit of [sign, distance 0 to 15], the top bit averaged, and of a zero."""
    bits = -np.log2(f / STATES)
    pair = f[:-1].reshape(2, count, 2)
    mean = (pair * bits[:-1].reshape(2, count, 2)).sum(2) / pair.sum(2)
    cost = np.full((2, 16), bits[-1] + PAYLOAD)
    cost[:, :count] = mean
    return np.rint(np.append(cost.reshape(-1), bits[-1] + 1) * 12).astype(int)


def write(path, classes):
    table = lambda v: ",\n      ".join(", ".join(map(str, v[i : i + 16])) for i in range(0, len(v), 16))
    with open(path, "w") as out:
        out.write("// SPDX-License-Identifier: Apache-2.0\n// Made by tools/dense_tables/train.py; do not edit.\n\n")
        out.write("inline constexpr ClassModel class_models[class_count] = {\n")
        for count, f, _ in classes:
            # In the file the symbol is 4 * distance + 2 * sign + top bit, the escape last.
            g = np.append(f[:-1].reshape(2, count, 2).transpose(1, 0, 2).reshape(-1), f[-1])
            out.write(f"    {{{count},\n     {{{table(g)}}},\n     {{{table(choice_costs(count, f))}}}}},\n")
        out.write("};\n")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--out")
    p.add_argument("--seeds", type=int, nargs="+", default=[22], help="22 was the best of 0 to 23")
    p.add_argument("--rounds", type=int, default=24)
    p.add_argument("--symmetric", type=int, nargs="+", default=[4])
    a = p.parse_args()
    torch.set_num_threads(1)
    read = lambda n: channel_counts(families.load(f"{a.data}/{n}.safetensors"))
    code, hidden, gradients = read("kv_code_1024"), read("hidden_docs_1024"), read("grad_docs_512")
    rng = np.random.default_rng(7)
    synthetic = {k: channel_counts([m]) for k, m in families.training_families(rng).items()}
    docs = read("kv_docs_1024")
    held_out = {k: channel_counts([m]) for k, m in families.held_out_families(rng).items()}
    size = lambda c: float(c[0].sum() + c[1].sum() + c[2].sum())
    # Every set counts with its share, whatever its size.
    shares = [(1.0, code), (0.2, hidden), (0.2, gradients)] + [(0.8 / len(synthetic), c) for c in synthetic.values()]
    sets = [(s * 1e6 / size(c), c) for s, c in shares]
    best = None
    for symmetric in a.symmetric:
        for seed in a.seeds:
            total, classes = train(sets, symmetric, seed, a.rounds)
            print("symmetric", symmetric, "seed", seed, "bits", round(total, 4), flush=True)
            if best is None or total < best[0]:
                best = (total, classes)
    classes = best[1]
    for name, c in [("kv_docs (held)", docs), ("kv_code", code), ("hidden", hidden), ("gradients", gradients)]:
        judge(name, c, classes)
    for name, c in synthetic.items():
        judge(name, c, classes)
    for name, c in held_out.items():
        judge(name + " (held)", c, classes)
    print("distances", [c[0] for c in classes])
    if a.out:
        write(a.out, classes)


if __name__ == "__main__":
    main()
