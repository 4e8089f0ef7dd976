"""Records a step of any module without computing it: which memory it takes and when, and what its operations cost.

The step runs on torch's fake tensors, with the hooks of a tier around it, so that what really happens is counted. It
runs once, with a mini-batch whose number is a prime: a tensor of a multiple of it grows with the mini-batch. Memory
inside of an operation, such as the workspace of a convolution, is not seen.
"""

import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from darkpy.memory.costs import Lifetime, Linear, Operation, Trace, Trip
from darkpy.memory.parking import Parking
from darkpy.memory.resting import Rest
from darkpy.memory.saving import SavedActivations, address_of
from darkpy.memory.suffix import Suffix
from darkpy.memory.tiers import OFFLOADING
from darkpy.memory.values import Kept

_PRIMES = (1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049)
_IDLE = ("aten.empty", "aten.new_empty", "aten.detach", "aten.alias", "aten.lift", "prim.")  # move no bytes
_WEIGHTS = {torch.ops.aten.convolution.default: 1, torch.ops.aten.convolution_backward.default: 2}  # which argument
Step = Callable[[int], None]


def prime_for(module: nn.Module) -> int:
    """Return a number of images that no size of the module's tensors is a multiple of.

    Raises:
        ValueError: If there is none among those that are tried.
    """
    sizes = {size for tensor in (*module.parameters(), *module.buffers()) for size in tensor.shape}
    for prime in _PRIMES:
        if all(size % prime for size in sizes if size):
            return prime
    raise ValueError(f"sizes of the module's parameters are multiples of each of {_PRIMES}")


def record(
    step: Step,
    module: nn.Module,
    *,
    resident: Iterable[Tensor],
    tier: int | None,
    tight: bool = False,
    near: bool = False,
) -> Trace:
    """Return what a step needs.

    Args:
        step: Runs forward and backward for so many images; it makes its images itself. FakeTensorMode is active.
        module: Whose parts give names to what they leave behind.
        resident: Tensors that are there all the time, such as parameters, running statistics and momentum.
        tier: As of ``TieredMemory``; None is tier 0 without looking at what autograd keeps, as inference wants it.
        tight: As of ``TieredMemory``.
        near: Whether host memory is near: as on a CPU.
    """
    batch, suffix = prime_for(module), Suffix(tight=tight)
    first: Trace | None = None
    for is_last in (False, True) if tier in OFFLOADING else (True,):  # the first step tells which tensors are the last
        recorder = _Recorder(batch, resident, near=near)
        with ExitStack() as stack:
            stack.enter_context(_named(module, recorder))
            stack.enter_context(recorder)
            if tier == 0:
                stack.enter_context(saved_tensors_hooks(recorder.keep, lambda tensor: tensor))
            elif tier is not None:
                stack.enter_context(_saving(recorder, tier, tight=tight, suffix=suffix))
            step(batch)
        trace = recorder.trace(tight=tight, first=first)
        first = None if is_last else trace
    return trace


def _saving(recorder: "_Recorder", tier: int, *, tight: bool, suffix: Suffix) -> SavedActivations:
    if tier not in OFFLOADING:
        return SavedActivations(recorder.hold, tight=tight)
    return SavedActivations(recorder.store, recompute_sums=tier >= 3, tight=tight, suffix=suffix, keep=recorder.hold)


def measured_peak(run: Callable[[], object]) -> int:
    """Return the bytes of tensors that ``run`` makes and that are alive at once, at most."""
    recorder = _Recorder(1, ())
    with recorder:
        result = run()
        trace = recorder.trace()
    del result
    return trace.peak(1)


class _Memory:
    """A storage that was seen."""

    __slots__ = ("born", "died", "is_saved", "module", "reference", "size")

    def __init__(self, size: Linear, born: int, module: str) -> None:
        self.size, self.born, self.module = size, born, module
        self.died: int | None = None
        self.is_saved = False
        self.reference: Any = None

    def lifetime(self, end: int) -> Lifetime:
        died = end if self.died is None else self.died
        return Lifetime(self.size, self.born, max(died, self.born), self.module, self.is_saved)


class _Away:
    """A tensor of which only the sizes are left: what it is for a store of ``SavedActivations``."""

    def __init__(self, tensor: Tensor, memory: _Memory, recorder: "_Recorder") -> None:
        self.is_near = recorder.near
        self.size, self.stride = tensor.size(), tensor.stride()
        self.dtype, self.device = tensor.dtype, tensor.device
        self.memory, self.recorder = memory, recorder
        self.stored_at = recorder.now
        self.loads: list[tuple[_Memory, bool]] = []

    def load(self, *, is_turn: bool) -> Tensor:
        tensor = torch.empty_strided(self.size, self.stride, dtype=self.dtype, device=self.device)
        self.loads.append((self.recorder.memory(tensor), is_turn))
        return tensor


class _SizesOnly:
    """A tensor that is parked, or rests: only its sizes are left while it is away."""

    def __init__(self, tensor: Tensor) -> None:
        self._like = torch.empty_like(tensor, device="meta")
        self._device = tensor.device

    def take(self) -> Tensor:
        return torch.empty_like(self._like, device=self._device)

    load = take

    def store(self, tensor: Tensor) -> None:
        pass


def rest_away(like: Tensor) -> Rest:
    """Return where a tensor rests in a step that is recorded."""
    return _SizesOnly(like)


def parking_away() -> Parking:
    """Return what parks gradients in a step that is recorded: they are gone until they are taken."""
    return Parking(_SizesOnly)


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Takes note of every operation, and of every storage that comes and goes.

    Args:
        batch: Images of the step.
        resident: Tensors that do not count.
        near: Whether the store is near, as host memory is to a CPU; a GPU has it behind a link.
    """

    def __init__(self, batch: int, resident: Iterable[Tensor], *, near: bool = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.near = near
        self.batch = batch
        self.now = -1  # index of the operation that runs
        self.module = ""
        self.operations: list[Operation] = []
        self.memories: list[_Memory] = []
        self.away: list[_Away] = []
        self._resident = list(resident)  # held, so that no address is given away
        self._known: dict[int, _Memory | None] = {address_of(tensor): None for tensor in self._resident}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        self.now += 1
        result = func(*args, **kwargs)
        inputs, outputs = _tensors((args, kwargs)), _tensors(result)
        for tensor in outputs:
            if tensor.untyped_storage().nbytes():
                self.memory(tensor)
        self.operations.append(self._operation(func, args, kwargs, result, inputs, outputs))
        return result

    def memory(self, tensor: Tensor) -> _Memory:
        """Return what is known of a tensor's storage, from now on; that of a resident one is of no account."""
        address = address_of(tensor)
        if address in self._known:
            return self._known[address] or _Memory(Linear(), 0, "")
        storage = tensor.untyped_storage()
        memory = _Memory(self._split(storage.nbytes()), max(self.now, 0), self.module)
        memory.reference = weakref.ref(storage, lambda _: self._gone(address, memory))
        self._known[address] = memory
        self.memories.append(memory)
        return memory

    def keep(self, tensor: Tensor) -> Tensor:
        """Take note that autograd keeps a tensor."""
        if not isinstance(tensor, nn.Parameter):
            self.memory(tensor).is_saved = True
        return tensor

    def hold(self, tensor: Tensor) -> Kept:
        """Keep a tensor where it is: a store."""
        self.memory(tensor).is_saved = True
        return Kept(tensor)

    def store(self, tensor: Tensor) -> _Away:
        """Send a tensor away: a store."""
        away = _Away(tensor, self.memory(tensor), self)
        self.away.append(away)
        return away

    def trace(self, *, tight: bool = False, first: Trace | None = None) -> Trace:
        """Return what was recorded."""
        end = max(self.now, 0)
        trips = tuple(
            Trip(
                one.memory.lifetime(end),
                one.stored_at,
                tuple(load.lifetime(end) for load, _ in one.loads),
                tuple(load.born for load, is_turn in one.loads if is_turn),
            )
            for one in self.away
        )
        travelled = {id(memory) for one in self.away for memory in (one.memory, *(load for load, _ in one.loads))}
        stayed = tuple(memory.lifetime(end) for memory in self.memories if id(memory) not in travelled)
        return Trace(tuple(self.operations), stayed, trips, tight, first)

    def _gone(self, address: int, memory: _Memory) -> None:
        memory.died = self.now
        if self._known.get(address) is memory:
            del self._known[address]

    def _split(self, nbytes: int) -> Linear:
        return Linear(0, nbytes) if nbytes % self.batch else Linear(nbytes // self.batch, 0)

    def _operation(
        self, func: Any, args: Any, kwargs: Any, result: Any, inputs: list[Tensor], outputs: list[Tensor]
    ) -> Operation:
        count = flop_registry.get(func._overloadpacket)
        flops = 0 if count is None else int(count(*args, **kwargs, out_val=result))
        name = str(func)
        moved = Linear()
        if not func.is_view and not name.startswith(_IDLE):
            again = [args[place] for place in _read_twice(func, args)]
            for tensor in (*inputs, *outputs, *again):
                moved += self._split(_nbytes(tensor))
        is_backward = torch._C._current_graph_task_id() != -1
        weights = _nbytes(args[_WEIGHTS[func]]) if func in _WEIGHTS else 0
        return Operation(name, self.module, is_backward, flops // self.batch, moved, weights)


@contextmanager
def _named(module: nn.Module, recorder: _Recorder) -> Iterator[None]:
    """Let the recorder know which part of a module runs."""
    handles = []
    names: list[str] = []

    def enter(name: str) -> Callable[..., None]:
        def hook(*_: Any) -> None:
            names.append(name)
            recorder.module = name

        return hook

    def leave(*_: Any) -> None:
        names.pop()
        recorder.module = names[-1] if names else ""

    for name, part in module.named_modules():
        handles += [part.register_forward_pre_hook(enter(name)), part.register_forward_hook(leave, always_call=True)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _read_twice(operation: Any, args: Any) -> tuple[int, ...]:
    """Return which arguments an operation reads in two passes: for statistics or sums first, then for the values."""
    if operation == torch.ops.aten.native_batch_norm.default and args[5]:  # in training
        return (0,)
    return (0, 1) if operation == torch.ops.aten.native_batch_norm_backward.default else ()


def _nbytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _tensors(values: Any) -> list[Tensor]:
    return [one for one in tree_leaves(values) if isinstance(one, Tensor)]
