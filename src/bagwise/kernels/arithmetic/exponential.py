"""exp(x) for x <= 0 in a form that the compiler turns into vector instructions.

    x = k ln 2 + r,  |r| <= ln(2)/2,   exp(x) = 2^k * sum_j r^j / j!

The series stops where its remainder is below rounding (r^8/8! = 5e-9 in float32, r^13/13! = 2e-16 in float64).
exp(0) is exactly 1, which the soft-max relies on; below the range of normal numbers the result is exactly 0.
x <= 0, so cutting off x log2(e) - 1/2 rounds to the nearest k; `math.floor` would give a long integer, which is slower.
The C library's exp is called one number at a time, costs three times the whole scoring pass, and is another function on
another processor.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic, overload

cgutils: Any = _cgutils


def _write_exponent(_context: Any, _exponent: Any, like: Any) -> Any:
    """2**exponent by writing the exponent bits of a float of the type of `like`."""
    if like == types.float32:
        integer, floating, bias, mantissa_bits = ir.IntType(32), ir.FloatType(), 127, 23
    else:
        integer, floating, bias, mantissa_bits = ir.IntType(64), ir.DoubleType(), 1023, 52

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        power = arguments[0]
        if integer.width > power.type.width:
            power = builder.sext(power, integer)
        biased = builder.add(power, ir.Constant(integer, bias))
        return builder.bitcast(builder.shl(biased, ir.Constant(integer, mantissa_bits)), floating)

    return like(types.int32, like), generate


_two_to_the: Any = intrinsic(_write_exponent)


def _write_fused(_context: Any, a: Any, _b: Any, _c: Any) -> Any:
    number, name = (ir.FloatType(), "f32") if a == types.float32 else (ir.DoubleType(), "f64")

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        three = ir.FunctionType(number, [number] * 3)
        function = cgutils.get_or_insert_function(builder.module, three, f"llvm.fma.{name}")
        return builder.call(function, arguments)

    return a(a, a, a), generate


fused: Any = intrinsic(_write_fused)
"""fused(a, b, c): a b + c, rounded once, inside compiled code."""


def _write_power(_context: Any, x: Any) -> Any:
    whole, short = ir.IntType(64), ir.IntType(32)

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        bits = builder.bitcast(arguments[0], whole)
        return builder.sub(builder.trunc(builder.lshr(bits, whole(52)), short), short(1022))

    return types.int32(x), generate


def _write_fraction(_context: Any, x: Any) -> Any:
    whole = ir.IntType(64)

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        mantissa = builder.and_(builder.bitcast(arguments[0], whole), whole(2**52 - 1))
        return builder.bitcast(builder.or_(mantissa, whole(1022 << 52)), ir.DoubleType())

    return x(x), generate


power_of: Any = intrinsic(_write_power)
"""power_of(x): the n of x = fraction 2^n, 1/2 <= fraction < 1, for a positive normal x in double precision."""

fraction_of: Any = intrinsic(_write_fraction)
"""fraction_of(x): the fraction, as `math.frexp` has it, which is a call of the C library."""


def exp_of_nonpositive(x: float) -> float:
    """exp(x) for x <= 0, inside compiled code and out of it."""
    return math.exp(x)


def _constants(real: type, terms: int) -> tuple[Any, ...]:
    return tuple(real(1 / math.factorial(j)) for j in range(terms))


def _single() -> Callable[[Any], Any]:
    log2e, ln2_high, ln2_low = np.float32(1.44269504), np.float32(0.693359375), np.float32(-2.12194440e-4)
    lowest, half, zero = np.float32(-87.0), np.float32(0.5), np.float32(0)
    c0, c1, c2, c3, c4, c5, c6, c7 = _constants(np.float32, 8)

    def single(x: Any) -> Any:
        y = max(x, lowest)
        k = np.int32(y * log2e - half)
        n = np.float32(k)
        r = fused(-n, ln2_low, fused(-n, ln2_high, y))
        upper = fused(r, fused(r, fused(r, c7, c6), c5), c4)
        series = fused(r, fused(r, fused(r, fused(r, upper, c3), c2), c1), c0)
        return series * _two_to_the(k, x) if x >= lowest else zero

    return single


def _double() -> Callable[[Any], Any]:
    log2e, ln2_high, ln2_low = 1.4426950408889634, 0.693147180369123816490, 1.90821492927058770002e-10
    lowest, half, zero = -708.0, 0.5, 0.0
    c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12 = _constants(float, 13)

    def double(x: Any) -> Any:
        y = max(x, lowest)
        k = np.int32(y * log2e - half)
        n = np.float64(k)
        r = fused(-n, ln2_low, fused(-n, ln2_high, y))
        top = fused(r, fused(r, fused(r, fused(r, c12, c11), c10), c9), c8)
        upper = fused(r, fused(r, fused(r, fused(r, top, c7), c6), c5), c4)
        series = fused(r, fused(r, fused(r, fused(r, upper, c3), c2), c1), c0)
        return series * _two_to_the(k, x) if x >= lowest else zero

    return double


@overload(exp_of_nonpositive, inline="always")
def _compiled(x: Any) -> Callable[[Any], Any] | None:
    if x == types.float32:
        return _single()
    return _double() if x == types.float64 else None
