"""How a kernel is compiled: ahead, for the one signature that it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from holdstill.ranking import kernel_cache

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

VOID, BOOL = types.void, types.boolean
INT8, INT16, INT32, INT64 = types.int8, types.int16, types.int32, types.int64
UINT16, FLOAT32 = types.uint16, types.float32


def reads(dtype: types.Type, dimensions: int = 1) -> types.Array:
    """An array in C order that the kernel only reads, so that it may be memory-mapped."""
    return types.Array(dtype, dimensions, "C", readonly=True)


def writes(dtype: types.Type, dimensions: int = 1) -> types.Array:
    """An array in C order that the kernel fills."""
    return types.Array(dtype, dimensions, "C")


def compiled(result: types.Type, *arguments: types.Type) -> Callable[[Kernel], Kernel]:
    """Compile a kernel for these types. It lets go of the interpreter's lock and never raises.

    Sums of int32 are written `np.int32(a + b)`: numba widens them to 64 bits otherwise, and the processor's 16-bit
    multiply-and-add instructions go unused.
    """
    decorate: Any = numba.njit(cache=True, nogil=True, error_model="numpy")

    def kernel(function: Kernel) -> Kernel:
        return cast(Kernel, kernel_cache.filed(lambda: decorate(function), result(*arguments)))

    return kernel


def _prefetch(_: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer], shape)
        read, soon, data = number(0), number(3), number(1)
        builder.call(function, [builder.inttoptr(arguments[0], pointer), read, soon, data])
        return context.get_dummy_value()

    return VOID(address), generate


#: Ask memory for what stands at an address: scattered rows arrive in half the time if they are asked for ahead.
prefetch: Any = intrinsic(_prefetch)
