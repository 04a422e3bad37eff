"""Every backend that scores bags, behind the interface of the kernels: compiled, torch, and fused for a GPU.

Without a GPU the fused kernels run in Triton's interpreter, so that the same code is tested everywhere.
"""

from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import pytest

from bagwise import kernels

TORCH = find_spec("torch") is not None
"""Without torch, the summary of conftest.py lists what was skipped."""
if TORCH:
    import torch

    from bagwise.kernels import gpu
    from bagwise.kernels.gpu import fused


class Compiled:
    """The kernels of the CPU."""

    dtypes = (np.float64, np.float32)
    slow = False

    def bag_probabilities(self, instances, seen_weights, classes):
        return kernels.bag_probabilities(instances.x, instances.offsets, *instances.fold(seen_weights), classes)

    def gradient_lengths(self, instances, seen_weights, classes):
        return kernels.gradient_lengths(instances, *instances.fold(seen_weights), classes)


@dataclass(frozen=True)
class OnTorch:
    """The kernels on a device: plain operations or fused kernels, resident or streamed block by block."""

    device: str
    fused: bool
    streamed: bool = False

    @property
    def dtypes(self):
        return (np.float32,) if self.fused else (np.float64, np.float32)

    @property
    def slow(self):
        return self.fused and self.device == "cpu"

    def bag_probabilities(self, instances, seen_weights, classes):
        with self._in_use(instances) as resident:
            return _arrays(gpu.bag_probabilities(resident, seen_weights, classes))

    def gradient_lengths(self, instances, seen_weights, classes):
        with self._in_use(instances) as resident:
            return _arrays(gpu.gradient_lengths(resident, seen_weights, classes))

    def variances(self, instances, seen_weights, factors):
        with self._in_use(instances) as resident:
            return gpu.label_variances(resident, seen_weights, self._on_device(factors, resident)).cpu().numpy()

    def expected_lengths(self, instances, seen_weights, factors):
        with self._in_use(instances) as resident:
            return gpu.expected_lengths(resident, seen_weights, self._on_device(factors, resident)).cpu().numpy()

    def _on_device(self, factors, resident):
        return torch.as_tensor(factors, dtype=resident.x.dtype, device=self.device)

    @contextmanager
    def _in_use(self, instances):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gpu.resident, "BLOCK_BYTES", 200 * instances.x.strides[0])
            serves = fused.serves
            patch.setattr(fused, "serves", lambda *given: self.fused and (serves(*given) or pytest.fail("not fused")))
            yield gpu.Resident.of(instances, self.device, stream=self.streamed)


def _arrays(tensors):
    return [tensor.cpu().numpy() for tensor in tensors]


BACKENDS = {"compiled": Compiled()}
if TORCH:
    BACKENDS |= {"torch": OnTorch("cpu", False), "torch streamed": OnTorch("cpu", False, True)}
    if torch.cuda.is_available():
        on_card = {
            (fused, streamed): OnTorch("cuda", fused, streamed) for fused in (False, True) for streamed in (False, True)
        }
        BACKENDS |= {f"card{' fused' * a}{' streamed' * b}": backend for (a, b), backend in on_card.items()}
    else:
        BACKENDS["fused"] = OnTorch("cpu", True)
