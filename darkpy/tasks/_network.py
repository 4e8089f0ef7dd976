"""Opens a network: finds the cfg, prints what darknet prints at load, reads the weights."""

import sys
from pathlib import Path

import torch

from darkpy.network import Blueprint, Network, read_blueprint
from darkpy.tasks._say import find as find
from darkpy.tasks._say import say as say
from darkpy.weights import LoadedWeights, load_weights


def open_blueprint(cfg: Path, *, inference: bool) -> Blueprint:
    """Read a cfg and print darknet's lines: the batch on stdout, the layer table and notes on stderr.

    Raises:
        CfgError: If the cfg cannot be used.
    """
    blueprint = read_blueprint(find(cfg))
    for note in blueprint.notes:
        say(note)
    net = blueprint.net
    mini_batch = 1 if inference else net.mini_batch
    batch = mini_batch * net.subdivisions
    print(f"mini_batch = {mini_batch}, batch = {batch}, time_steps = 1, train = {int(not inference)} ")
    for layer in blueprint.layers:
        for line in getattr(layer.spec, "announcements", tuple)():
            print(line)
    sys.stdout.flush()
    say("\n".join(blueprint.table()))
    return blueprint


def build_network(blueprint: Blueprint, device: torch.device) -> Network:
    """Return the network on its device, in the memory order that suits it."""
    network = Network(blueprint)
    if device.type == "cpu":
        network = network.to(memory_format=torch.channels_last)
    return network.to(device)


def read_weights(network: Network, path: Path, *, leftover_is_error: bool) -> LoadedWeights:
    """Read a weights file and print what darknet prints.

    Raises:
        WeightsError: If the file does not fit.
    """
    print(f"Loading weights from {path}...", end="", file=sys.stderr, flush=True)
    try:
        loaded = load_weights(network, path, leftover_is_error=leftover_is_error)
    except Exception:
        say("")
        raise
    bits = 64 if loaded.is_seen_64 else 32
    thousands, batches = loaded.seen // 1000, loaded.seen // 64000
    print(f"\n seen {bits}, trained: {thousands} K-images ({batches} Kilo-batches_64) ", flush=True)
    say(f"Done! Loaded {loaded.layers} layers from weights-file ")
    for note in loaded.notes:
        say(f"Warning: {note}")
    return loaded


def open_network(cfg: Path, weights: Path | None, *, device: torch.device) -> Network:
    """Return a network ready to detect: evaluation mode, batch norm folded into the convolutions.

    Args:
        cfg: The network.
        weights: Its weights; None keeps random ones, and that is said.
        device: Where it runs.

    Raises:
        CfgError: If the cfg cannot be used.
        WeightsError: If the weights do not fit.
    """
    network = build_network(open_blueprint(cfg, inference=True), device)
    if weights is None:
        say("Warning: no weights given: the network is random, and so is what it finds. Add a .weights file.")
    else:
        read_weights(network, weights, leftover_is_error=False)
    network.eval()
    network.fuse()
    torch.backends.cudnn.allow_tf32 = False  # on NVIDIA GPUs: digits as on a CPU, for little time
    return network
