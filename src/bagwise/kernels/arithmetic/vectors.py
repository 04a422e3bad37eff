"""Vector instructions where the compiler does not find them: reductions over rows of some dozens of numbers.

Left to itself the compiler prepares for long rows and does short ones almost number by number, which made the
soft-max three times slower. Rows start anywhere and are a whole number of vectors of `LANES` long; arguments are
addresses in bytes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import Parameter, Signature
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic

LANES = 8
WIDE = "+avx512f" in cpu_target.target_context.codegen().magic_tuple()[2]
"""Whether the processor for which kernels are compiled has 32 registers of 64 bytes, rather than 16 of 32."""
ROWS_OF = {4: (12, 12, 10, 10, 8, 8, 6, 6), 8: (12, 10, 8, 6)} if WIDE else {4: (10, 6, 4), 8: (6, 2)}
"""Rows of a tile of one, two, ... vectors, by the bytes of a number: what there are registers for, and the fastest."""
REST_OF_ROWS = (4, 2, 1)
"""Rows of the tiles of what is left over; one by one, a transposed product of 11 classes took 1.6 times as long."""
MOST_OF_FLOATS, MOST_OF_DOUBLES = len(ROWS_OF[4]), len(ROWS_OF[8])
cgutils: Any = _cgutils


class Vectors(NamedTuple):
    """Writes instructions on vectors of `LANES` numbers, or of another number of lanes."""

    builder: Any
    number: Any
    lanes: int = LANES

    @property
    def size(self) -> int:
        """Bytes of a number."""
        return 4 if self.number == ir.FloatType() else 8

    @property
    def kind(self) -> Any:
        """The type of a vector."""
        return ir.VectorType(self.number, self.lanes)

    @property
    def name(self) -> str:
        """How intrinsic functions call it."""
        return f"v{self.lanes}f{8 * self.size}"

    def address(self, start: Any, offset: Any, kind: Any) -> Any:
        """A pointer to what is `offset` bytes behind `start`."""
        return self.builder.inttoptr(self.builder.add(start, offset), kind.as_pointer())

    def load(self, start: Any, offset: Any) -> Any:
        """The vector `offset` bytes behind `start`."""
        return self.builder.load(self.address(start, offset, self.kind), align=self.size)

    def store(self, value: Any, start: Any, offset: Any) -> None:
        """Write a vector `offset` bytes behind `start`."""
        self.builder.store(value, self.address(start, offset, self.kind), align=self.size)

    def constant(self, value: float) -> Any:
        """The same number, known beforehand, in every lane."""
        return ir.Constant(self.kind, [value] * self.lanes)

    def pick(self, a: Any, b: Any, lanes: list[int]) -> Any:
        """These lanes of two vectors, those of the second counted on from those of the first."""
        return self.builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes))

    def number_at(self, start: Any, offset: Any) -> Any:
        """The number `offset` bytes behind `start`, in every lane."""
        pointer = self.address(start, offset, self.number)
        return self.spread(self.builder.load(pointer, align=self.size))

    def spread(self, value: Any) -> Any:
        """One number in every lane."""
        nothing = ir.Constant(self.kind, ir.Undefined)
        single = self.builder.insert_element(nothing, value, ir.IntType(32)(0))
        return self.builder.shuffle_vector(
            single, nothing, ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), None)
        )

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """A b + c, rounded once."""
        three = ir.FunctionType(self.kind, [self.kind] * 3)
        function = cgutils.get_or_insert_function(self.builder.module, three, f"llvm.fma.{self.name}")
        return self.builder.call(function, [a, b, c])

    def larger(self, a: Any, b: Any) -> Any:
        """The larger of two vectors, lane by lane."""
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def prefetch(self, address: Any) -> None:
        """Have the memory at this address fetched, which need not exist."""
        whole, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        four = ir.FunctionType(ir.VoidType(), [byte, whole, whole, whole])
        function = cgutils.get_or_insert_function(self.builder.module, four, "llvm.prefetch.p0")
        self.builder.call(function, [self.builder.inttoptr(address, byte), whole(0), whole(3), whole(1)])

    def variable(self, value: Any) -> Any:
        """A vector that changes."""
        held = cgutils.alloca_once(self.builder, self.kind)
        self.builder.store(value, held)
        return held

    @property
    def registers(self) -> tuple[int, "Vectors"]:
        """How many vectors a register takes, and instructions of its width."""
        together = 2 if WIDE and self.size == 4 else 1
        return together, self._replace(lanes=together * LANES)

    def split(self, count: int) -> list[tuple[int, "Vectors"]]:
        """Where in a row of `count` vectors each register begins, in bytes, and instructions of its width."""
        together, wide = self.registers
        return [
            (start * LANES * self.size, wide if start + together <= count else self)
            for start in range(0, count, together)
        ]

    def each_tile(self, rows: Any, count: Any) -> Iterator[tuple[Any, int, int]]:
        """For the tiles of `rows` rows of `count` vectors: the first row, and the numbers of rows and vectors."""
        builder = self.builder
        for width, tall in enumerate(ROWS_OF[self.size], 1):
            with builder.if_then(builder.icmp_signed("==", count, count.type(width))):
                first = rows.type(0)
                for height in (tall, *(low for low in REST_OF_ROWS if low < tall)):
                    last = builder.sub(rows, builder.srem(builder.sub(rows, first), rows.type(height)))
                    with cgutils.for_range_slice(builder, first, last, rows.type(height)) as (row, _):
                        yield row, height, width
                    first = last

    @contextmanager
    def each(self, count: Any) -> Iterator[Any]:
        """For `count` vectors of a row: the offset of the vector in bytes."""
        with cgutils.for_range(self.builder, count) as loop:
            yield self.builder.mul(loop.index, loop.index.type(LANES * self.size))

    def largest(self, value: Any) -> Any:
        """The largest lane."""
        one = ir.FunctionType(self.number, [self.kind])
        function = cgutils.get_or_insert_function(self.builder.module, one, f"llvm.vector.reduce.fmax.{self.name}")
        return self.builder.call(function, [value], fastmath=("nnan", "nsz"))

    def total(self, value: Any) -> Any:
        """The sum of the lanes: halves are added, then halves of that."""
        width = LANES
        while width > 1:
            width //= 2
            value = self.builder.fadd(
                self.pick(value, value, list(range(width))), self.pick(value, value, list(range(width, 2 * width)))
            )
        return self.builder.extract_element(value, ir.IntType(32)(0))


def _write_address(_context: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        held = context.make_array(array)(context, builder, arguments[0])
        return builder.ptrtoint(held.data, cgutils.intp_t)

    return types.intp(array), generate


address_of: Any = intrinsic(_write_address)
"""address_of(array): where the first number is of an array that lives longer, such as an argument.

`array.ctypes` counts a reference, by an atomic operation each time: on one-instance bags more than the products took.
"""


def compiled(arguments: str, returns: bool, write: Callable[..., Any]) -> Any:
    """An intrinsic of these arguments, `i` a whole number and `f` one of the numbers in memory, whose type `like` has.

    `like` comes last. `write` gets the vectors and all arguments, and returns the result where there is one.
    """

    def typed(_context: Any, *given: Any) -> Any:
        like = given[-1]

        def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            number = ir.FloatType() if like == types.float32 else ir.DoubleType()
            result = write(Vectors(builder, number), *values)
            return result if returns else context.get_dummy_value()

        kinds = [types.intp if kind == "i" else like for kind in arguments]
        return (like if returns else types.void)(*kinds, like), generate

    names = ["context", *(f"argument_{place}" for place in range(len(arguments))), "like"]
    parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    typed.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return intrinsic(typed)


def _below_top(vectors: Vectors, row: Any, bias: Any, out: Any, count: Any, _like: Any) -> None:
    builder = vectors.builder
    first = builder.fadd(vectors.load(row, row.type(0)), vectors.load(bias, bias.type(0)))
    top = vectors.variable(first)
    with vectors.each(count) as offset:
        z = builder.fadd(vectors.load(row, offset), vectors.load(bias, offset))
        vectors.store(z, out, offset)
        builder.store(vectors.larger(z, builder.load(top)), top)
    largest = vectors.spread(vectors.largest(builder.load(top)))
    with vectors.each(count) as offset:
        vectors.store(builder.fsub(vectors.load(out, offset), largest), out, offset)


def _rest_of(vectors: Vectors, row: Any, count: Any, _like: Any) -> Any:
    # Tops are counted in whole numbers: the compiler merged two sums of floats, and what is small beside 1 was lost.
    builder, whole = vectors.builder, ir.VectorType(ir.IntType(32), LANES)
    zero, one = ir.Constant(vectors.kind, [0.0] * LANES), ir.Constant(vectors.kind, [1.0] * LANES)
    below, tops = vectors.variable(zero), cgutils.alloca_once_value(builder, ir.Constant(whole, None))
    with vectors.each(count) as offset:
        e = vectors.load(row, offset)
        is_below = builder.fcmp_ordered("<", e, one)
        builder.store(builder.fadd(builder.load(below), builder.select(is_below, e, zero)), below)
        builder.store(builder.add(builder.load(tops), builder.zext(builder.not_(is_below), whole)), tops)
    function_type = ir.FunctionType(ir.IntType(32), [whole])
    counted = cgutils.get_or_insert_function(builder.module, function_type, f"llvm.vector.reduce.add.v{LANES}i32")
    others = builder.sub(builder.call(counted, [builder.load(tops)]), ir.IntType(32)(1))
    return builder.fadd(vectors.total(builder.load(below)), builder.sitofp(others, vectors.number))


def _dot_of(vectors: Vectors, a: Any, b: Any, count: Any, _like: Any) -> Any:
    builder = vectors.builder
    lanes = vectors.variable(vectors.constant(0.0))
    with vectors.each(count) as offset:
        builder.store(vectors.fma(vectors.load(a, offset), vectors.load(b, offset), builder.load(lanes)), lanes)
    return vectors.total(builder.load(lanes))


def _add_presence(
    vectors: Vectors, row: Any, absent: Any, present: Any, count: Any, rest: Any, total: Any, inverse: Any, _like: Any
) -> None:
    builder, one = vectors.builder, vectors.constant(1.0)
    rest, total, inverse = vectors.spread(rest), vectors.spread(total), vectors.spread(inverse)
    with vectors.each(count) as offset:
        e, before, sum_before = (vectors.load(start, offset) for start in (row, absent, present))
        found = builder.fmul(builder.fmul(e, inverse), before)
        vectors.store(builder.fadd(sum_before, found), present, offset)
        others = builder.select(builder.fcmp_ordered("<", e, one), builder.fsub(total, e), rest)
        vectors.store(builder.fmul(before, builder.fmul(others, inverse)), absent, offset)


def _drive_of(vectors: Vectors, row: Any, factor: Any, out: Any, count: Any, rest: Any, total: Any, _like: Any) -> Any:
    builder, one = vectors.builder, vectors.constant(1.0)
    rest, total = vectors.spread(rest), vectors.spread(total)
    lanes = vectors.variable(vectors.constant(0.0))
    with vectors.each(count) as offset:
        e = vectors.load(row, offset)
        others = builder.select(builder.fcmp_ordered("<", e, one), builder.fsub(total, e), rest)
        drive = builder.fmul(vectors.load(factor, offset), builder.fdiv(e, others))
        vectors.store(drive, out, offset)
        builder.store(builder.fadd(builder.load(lanes), drive), lanes)
    return vectors.total(builder.load(lanes))


def _less_drawn(vectors: Vectors, row: Any, drive: Any, count: Any, draw: Any, _like: Any) -> None:
    builder, draw = vectors.builder, vectors.spread(draw)
    with vectors.each(count) as offset:
        drawn = builder.fmul(vectors.load(row, offset), draw)
        vectors.store(builder.fsub(vectors.load(drive, offset), drawn), row, offset)


below_top = compiled("iiii", False, _below_top)
"""below_top(row, bias, out, vectors, like): out <- row + bias - the largest number of it."""

rest_of = compiled("ii", True, _rest_of)
"""rest_of(row, vectors, like): sum of a row's numbers but for one of those that are 1."""

dot_of = compiled("iii", True, _dot_of)
"""dot_of(a, b, vectors, like): sum of the products of two rows' numbers."""

add_presence = compiled("iiiifff", False, _add_presence)
"""add_presence(row, absent, present, vectors, rest, s, 1/s, like): one more row e of a bag (`presence`)."""

drive_of = compiled("iiiiff", True, _drive_of)
"""drive_of(row, factor, out, vectors, rest, s, like): out <- factor * odds of a row e; the sum of it (`likelihood`)."""

less_drawn = compiled("iiif", False, _less_drawn)
"""less_drawn(row, drive, vectors, draw, like): row <- drive - row * draw."""
