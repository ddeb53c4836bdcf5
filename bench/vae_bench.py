#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Frames of diffusers' AutoencoderKLWan on a GPU, written while it decodes, against the decoding alone.

The decoder has random weights in bfloat16: what it costs does not depend on them. Latent frames are decoded one after
the other, as `AutoencoderKLWan.decode` does, so that one latent frame is a chunk: 1 pixel frame, then 4 each. Rounds take
turns: the decoding alone (its frames are dropped), then each sink through offramp.FrameWriter, then, where --sync, the
same writer waited for after each chunk. GPU busy is CUPTI's union of kernel times over the whole job, to the closed
file. Two results of each sink, one of them of the run that waits, are compared byte for byte.

    bench/vae_bench.py [--frames 41] [--sizes 480x832,720x1280] [--sinks rgb,y4m,mp4,png,null] [--rounds 5] [--sync 1]
                       [--graph] [--out FOLDER] [--dir FOLDER]

It needs torch with CUDA, diffusers, and this package built with CUDA and FFmpeg. --graph replays a CUDA graph of one
chunk's decoding instead of launching its kernels one by one: a workload with no gaps of its own.
"""
import argparse
import filecmp
import gc
import pathlib
import shutil
import statistics
import time

import torch

import offramp
import report

SINKS = {
    "null": ("null:", {}),
    "rgb": ("clip.rgb", {"pixels": "rgb24"}),
    "y4m": ("clip.y4m", {}),
    "mp4": ("clip.mp4", {"codec": "libx264", "preset": "veryfast"}),
    "mp4_low_delay": ("clip.mp4", {"codec": "libx264", "preset": "veryfast", "low_delay": True}),
    "png": ("png/%05d.png", {"level": 1}),
}


class Decoder:
    """Decodes one latent frame a call."""

    def __init__(self, height, width, graph):
        from diffusers import AutoencoderKLWan

        torch.manual_seed(1)
        with torch.device("cuda"):
            vae = AutoencoderKLWan().to(torch.bfloat16).eval()
        vae.requires_grad_(False)
        self.vae = vae
        self.latent = torch.randn(1, vae.config.z_dim, 41, height // 8, width // 8, device="cuda", dtype=torch.bfloat16)
        self.graph = None
        self.use_graph = graph

    def chunk(self, x, at):
        self.vae._conv_idx = [0]
        first = {"first_chunk": True} if at == 0 else {}
        return self.vae.decoder(x[:, :, at : at + 1], feat_cache=self.vae._feat_map, feat_idx=self.vae._conv_idx, **first)

    def capture(self, x):
        """A graph of a chunk that is not the first: its caches are read and written in place."""
        self.vae.clear_cache()
        for at in range(3):
            self.chunk(x, at)
        self.cache = [item.clone() if torch.is_tensor(item) else item for item in self.vae._feat_map]
        self.static_x = x[:, :, 3:4].clone()

        def step():
            self.vae._conv_idx = [0]
            cache = list(self.cache)
            out = self.vae.decoder(self.static_x, feat_cache=cache, feat_idx=self.vae._conv_idx)
            for own, new in zip(self.cache, cache):
                if torch.is_tensor(own):
                    own.copy_(new)
            return out

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.graph_out = step()

    @torch.inference_mode()
    def frames(self, count):
        """Chunks [3, n, h, w], values in [-1, 1] and outside."""
        x = self.vae.post_quant_conv(self.latent)
        if self.use_graph:
            if self.graph is None:
                self.capture(x)
            for at in range(count):
                self.static_x.copy_(x[:, :, at : at + 1])
                self.graph.replay()
                yield self.graph_out[0].clone()  # the next replay writes over it
            return
        self.vae.clear_cache()
        for at in range(count):
            yield self.chunk(x, at)[0]
        self.vae.clear_cache()


def alone(decoder, count):
    for _ in decoder.frames(count):
        pass
    torch.cuda.synchronize()
    return 0


def written(decoder, count, path, options, wait):
    if path != "null:":
        path.parent.mkdir(parents=True, exist_ok=True)
    with offramp.FrameWriter(path, fps=16, range=(-1, 1), axes="cnhw", overwrite=True, **options) as writer:
        for frames in decoder.frames(count):
            ticket = writer.submit(frames)
            if wait:
                ticket.wait_durable()
    return writer.report.frames, writer.counters


def timed(run):
    gc.collect()
    torch.cuda.synchronize()
    with offramp.GpuActivity() as gpu:
        start = time.perf_counter()
        result = run()
        wall = time.perf_counter() - start
    assert gpu.report.lost == 0
    return wall, gpu.report.busy / gpu.report.wall, gpu.report, result


def same(sink, one, other):
    """Whether two results are: bytes, or what decodes from them."""
    if sink == "png":
        names = sorted(p.name for p in one.parent.iterdir())
        assert names == sorted(p.name for p in other.parent.iterdir())
        return not filecmp.cmpfiles(one.parent, other.parent, names, shallow=False)[1]
    return filecmp.cmp(one, other, shallow=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=41, help="latent frames, 41 at most")
    parser.add_argument("--sizes", default="480x832", help="height x width of a pixel frame, separated by commas")
    parser.add_argument("--sinks", default="rgb,y4m,mp4,png")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sync", type=int, default=1, help="rounds of the run that waits for each chunk")
    parser.add_argument("--graph", action="store_true")
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("/dev/shm/offramp_vae"))
    parser.add_argument("--out", type=pathlib.Path, default=report.ROOT / "out" / "bench")
    args = parser.parse_args()

    out = report.Report("vae", args.out, report.shown_command())
    out.say(f"AutoencoderKLWan, bfloat16, {args.frames} latent frames{', a CUDA graph a chunk' if args.graph else ''};"
            f" {torch.cuda.get_device_name()}, torch {torch.__version__}, {args.rounds} rounds in turns, smallest / median"
            f" / largest; files in {args.dir}")
    sinks = args.sinks.split(",")
    for size in args.sizes.split(","):
        height, width = map(int, size.split("x"))
        decoder = Decoder(height, width, args.graph)
        alone(decoder, min(args.frames, 5))
        kinds = ["alone"] + sinks
        found = {kind: [] for kind in kinds}
        counters = {}
        for _ in range(args.rounds):
            for kind in kinds:
                if kind == "alone":
                    run = timed(lambda: alone(decoder, args.frames))
                else:
                    name, options = SINKS[kind]
                    path = name if name == "null:" else args.dir / kind / name
                    if path != "null:":
                        shutil.rmtree(args.dir / kind, ignore_errors=True)  # freeing memory takes its time
                    run = timed(lambda: written(decoder, args.frames, path, options, False))
                    count, counters[kind] = run[3]
                    assert count == 4 * args.frames - (0 if args.graph else 3), (kind, count)
                found[kind].append(run)
        base = [run[0] for run in found["alone"]]
        out.say(f"\n{height}x{width}")
        out.say(f"  {'':11} {'wall s':>23} {'against alone':>24} {'GPU busy %':>24}   stalls")
        for kind in kinds:
            walls = [run[0] for run in found[kind]]
            ratios = [wall / own for wall, own in zip(walls, base)]
            busy = [100 * run[1] for run in found[kind]]
            stalls = counters.get(kind, {}).get("stalls", "")
            out.say(f"  {kind:11} {report.spread(walls, 3):>23} {report.spread(ratios, 4):>24} {report.spread(busy, 2):>24}"
                    f"   {stalls}")
            for metric, values, unit in (("wall", walls, "s"), ("over_alone", ratios, ""), ("busy", busy, "%")):
                out.add(f"{size}/{kind}", metric, statistics.median(values), unit)
        for kind in sinks if args.sync else []:
            name, options = SINKS[kind]
            if name == "null:":
                continue
            path = args.dir / kind / name
            other = args.dir / (kind + "_waits") / name
            runs = [timed(lambda: written(decoder, args.frames, other, options, True)) for _ in range(args.sync)]
            walls, busy = [run[0] for run in runs], [100 * run[1] for run in runs]
            out.say(f"  {kind} waits {report.spread(walls, 3):>21} {statistics.median(walls) / statistics.median(base):>24.4f}"
                    f" {report.spread(busy, 2):>24}   same as above: {'yes' if same(kind, path, other) else 'NO'}")
            shutil.rmtree(args.dir / (kind + "_waits"))
        shutil.rmtree(args.dir, ignore_errors=True)
        del decoder
        torch.cuda.empty_cache()
    out.write()


if __name__ == "__main__":
    main()
