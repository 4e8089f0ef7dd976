"""The rival training loops of bench_train.py, each run in a process of its own; prints the seconds of each iteration.

pytorchyolo   the loop of pytorchyolo/train.py (PyPI, eriklindernoren/PyTorch-YOLOv3) as it stands, cut short
bare          the same layers in plain torch, fixed random pictures, no loss and no data: a yardstick

Usage: bench_loops.py (pytorchyolo | bare) CFG DATA ITERATIONS WORKERS
"""

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from darkpy.cfg.text import Section, read_sections


def run_pytorchyolo(cfg: Path, data: Path, *, iterations: int, workers: int) -> None:
    """Run pytorchyolo's own loop and print the time from one iteration's end to the next."""
    from pytorchyolo import train as rival

    def stopwatch(loader: Any, **_: object) -> Iterator[Any]:
        """Stand in for the progress bar around the loader: the one place that sees every iteration."""
        start = time.perf_counter()
        for number, batch in enumerate(loader):
            if number:
                print(f"iteration {time.perf_counter() - start:.6f}", flush=True)
                start = time.perf_counter()
            if number == iterations:
                raise SystemExit(0)
            yield batch
        raise SystemExit(f"{data}: the train list has too few pictures for {iterations} iterations")

    rival.tqdm.tqdm = stopwatch
    sys.argv = ["train", "-m", str(cfg), "-d", str(data), "--n_cpu", str(workers)]
    rival.run()


class BareNetwork(nn.Module):
    """The convolutions, poolings, routes and upsamplings of a cfg; its heads hand on what comes in.

    Args:
        sections: Of a cfg that has no other kinds, [net] first.
    """

    def __init__(self, sections: Sequence[Section]) -> None:
        super().__init__()
        self.plan: list[tuple[str, tuple[int, ...], int, int]] = []  # kind, sources, groups, group_id
        self.modules_of = nn.ModuleList()
        channels: list[int] = []
        for index, section in enumerate(sections[1:]):
            options = {entry.key: entry.value or "" for entry in section.entries}
            sources = tuple(int(word) for word in options.get("layers", "-1").split(","))
            sources = tuple(source if source >= 0 else index + source for source in sources)
            groups, group = int(options.get("groups", 1)), int(options.get("group_id", 0))
            self.plan.append((section.kind, sources, groups, group))
            inputs = sum(channels[source] if source >= 0 else 3 for source in sources)
            module, outputs = _module(section.kind, options, inputs)
            self.modules_of.append(module)
            channels.append(outputs // groups)

    def forward(self, images: Tensor) -> list[Tensor]:
        """Return what enters each head, for (B, 3, H, W) images."""
        outputs: list[Tensor] = []
        heads: list[Tensor] = []
        for (kind, sources, groups, group), module in zip(self.plan, self.modules_of, strict=True):
            inputs = [outputs[source] if source >= 0 else images for source in sources]
            x = torch.cat(inputs, dim=1) if len(inputs) > 1 else inputs[0]
            outputs.append(module(x.chunk(groups, dim=1)[group]))
            if kind == "yolo":
                heads.append(x)
        return heads


def _module(kind: str, options: dict[str, str], inputs: int) -> tuple[nn.Module, int]:
    """Return a layer's module and its output channels."""
    if kind == "maxpool":
        return nn.MaxPool2d(int(options["size"]), int(options["stride"])), inputs
    if kind == "upsample":
        return nn.Upsample(scale_factor=int(options["stride"])), inputs
    if kind in ("route", "yolo"):
        return nn.Identity(), inputs
    if kind != "convolutional":
        raise SystemExit(f"[{kind}]: the bare network has no such layer")
    filters, size, normalized = int(options["filters"]), int(options["size"]), "batch_normalize" in options
    parts: list[nn.Module] = [
        nn.Conv2d(inputs, filters, size, int(options["stride"]), padding=size // 2, bias=not normalized)
    ]
    if normalized:
        parts.append(nn.BatchNorm2d(filters))
    if options["activation"] == "leaky":
        parts.append(nn.LeakyReLU(0.1, inplace=True))
    return nn.Sequential(*parts), filters


def run_bare(cfg: Path, *, iterations: int) -> None:
    """Run forward, backward and update of the bare network in channels_last and print the seconds of each."""
    sections = read_sections(cfg)
    net = {entry.key: entry.value or "" for entry in sections[0].entries}
    torch.manual_seed(0)
    network = BareNetwork(sections).to(memory_format=torch.channels_last)
    images = torch.rand(int(net["batch"]), 3, int(net["height"]), int(net["width"]))
    images = images.contiguous(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-6, momentum=0.9, weight_decay=5e-4)
    for _ in range(iterations):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        sum((head.square().mean() for head in network(images)), torch.zeros(())).backward()
        optimizer.step()
        print(f"iteration {time.perf_counter() - start:.6f}", flush=True)


def main() -> None:
    """Run the loop that the command line names."""
    kind, cfg, data, iterations, workers = sys.argv[1:]
    if kind == "pytorchyolo":
        run_pytorchyolo(Path(cfg), Path(data), iterations=int(iterations), workers=int(workers))
    else:
        run_bare(Path(cfg), iterations=int(iterations))


if __name__ == "__main__":
    main()
