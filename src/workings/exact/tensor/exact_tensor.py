"""`ExactTensor`: a `torch.Tensor` whose elements are exact values.

To PyTorch it is a tensor of dtype float64 (or whatever its *label* says: modules compare dtypes). Its data is a payload, a
real float64 tensor of handles, so views, strides and in-place writes are PyTorch's own. Every ATen operation arrives in
`dispatch`, below autograd, which therefore works unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import torch

from workings.errors import DomainError
from workings.exact.numbers.assume import NONE, Assumption, Notes
from workings.exact.numbers.rounding import decimals, to_float
from workings.exact.numbers.simplest import simplest
from workings.exact.numbers.value import Value, letters
from workings.exact.reading.recover import TAKEN
from workings.exact.tensor.arena import ARENA, payload_of, unseen_by_modes, values_of
from workings.exact.tensor.json_form import to_json
from workings.exact.tensor.noted import notes_among
from workings.exact.tensor.represent import represent
from workings.exact.typeset.grid import grid
from workings.exact.typeset.latex import tensor_latex
from workings.exact.typeset.text import text
from workings.page.notebook import bundle
from workings.written_out import KINDS


class SharedNotes:
    """The assumptions a tensor rests on; a tensor and its views share one."""

    __slots__ = ("notes",)

    def __init__(self, notes: Notes = NONE) -> None:
        self.notes = notes


class PlainTargetError(DomainError):
    """Exact values would be written into this ordinary tensor.

    Not a TypeError: Python takes one from `y += x` for a hint to compute y = y + x, and nobody else who holds y sees it.
    """

    def __init__(self, message: str, target: torch.Tensor) -> None:
        super().__init__(message)
        self.target = target


OVERRIDES: dict[Any, Callable[..., Any]] = {}
"""Functions above autograd that exact tensors answer themselves (see `attention.py`)."""


class _Hooks:
    """What an exact tensor asks of the rooms above; set when `workings.exact` is imported."""

    dispatch: Callable[[Any, Any, Any], Any]
    substitute: Callable[[ExactTensor, dict[str, Any]], ExactTensor]
    before_write: Callable[[Any, Any, Any], None]
    run_again: Callable[[Any, Any, Any, Exception], Any]
    run_with_exact_targets: Callable[[Any, Any, Any, PlainTargetError], Any]
    unpickled: Callable[[str, bool, bool], ExactTensor]


HOOKS = _Hooks()


class ExactTensor(torch.Tensor):
    """A tensor of exact values. Make one with `exact(…)`; use it like any other tensor."""

    payload: torch.Tensor
    shared: SharedNotes

    if TYPE_CHECKING:  # PyTorch's stubs say `Tensor`; these say what every operation on an exact tensor gives
        grad: ExactTensor | Any
        """Any: a leaf has one after `backward`, and nobody wants to ask first."""

        def __add__(self, other: Any) -> ExactTensor: ...
        def __radd__(self, other: Any) -> ExactTensor: ...
        def __sub__(self, other: Any) -> ExactTensor: ...
        def __rsub__(self, other: Any) -> ExactTensor: ...
        def __mul__(self, other: Any) -> ExactTensor: ...
        def __rmul__(self, other: Any) -> ExactTensor: ...
        def __truediv__(self, other: Any) -> ExactTensor: ...
        def __rtruediv__(self, other: Any) -> ExactTensor: ...
        def __pow__(self, other: Any) -> ExactTensor: ...
        def __matmul__(self, other: Any) -> ExactTensor: ...
        def __neg__(self) -> ExactTensor: ...
        def __getitem__(self, indices: Any) -> ExactTensor: ...
        def __iter__(self) -> Iterator[ExactTensor]: ...
        def detach(self) -> ExactTensor: ...
        def requires_grad_(self, mode: bool = True) -> ExactTensor: ...

    @staticmethod
    def __new__(
        cls,
        payload: torch.Tensor,
        *,
        dtype: torch.dtype = torch.float64,
        requires_grad: bool = False,
        shared: SharedNotes | None = None,
    ) -> ExactTensor:
        if (
            torch.is_inference_mode_enabled()
        ):  # a view of an ordinary tensor is one there too; PyTorch cannot make it of another
            with torch.inference_mode(False):
                return ExactTensor(payload, dtype=dtype, requires_grad=requires_grad, shared=shared)
        self: ExactTensor = torch.Tensor._make_wrapper_subclass(
            cls,
            payload.shape,
            strides=payload.stride(),
            storage_offset=payload.storage_offset(),
            dtype=dtype,
            requires_grad=requires_grad,
        )
        self.payload = payload
        self.shared = shared or SharedNotes()
        torch._C._set_throw_on_mutable_data_ptr(self)  # its memory holds no numbers
        ARENA.register(payload)
        return self

    def __init__(self, payload: torch.Tensor, **options: Any) -> None:
        """Everything is set in `__new__`, which torch calls too."""

    # ---- PyTorch's protocol
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        own = OVERRIDES.get(func)
        if own is not None:
            return own(*args, **(kwargs or {}))
        HOOKS.before_write(func, args, kwargs or {})
        with torch._C.DisableTorchFunctionSubclass():
            try:
                result = func(*args, **(kwargs or {}))
            except (OverflowError, ValueError) as error:  # it may be an integer that PyTorch's own numbers cannot hold
                result = HOOKS.run_again(func, args, kwargs or {}, error)
            except PlainTargetError as error:
                result = HOOKS.run_with_exact_targets(func, args, kwargs or {}, error)
            finally:
                if TAKEN.values:
                    TAKEN.values.clear()
        if func is torch.Tensor.__getitem__:  # a 0-dim index arrives below as a plain number
            _add_notes(result, notes_among(args))
        return result

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return HOOKS.dispatch(func, args, kwargs or {})

    def __deepcopy__(self, memo: dict[int, Any]) -> ExactTensor:
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise RuntimeError(
                "A copy of an exact tensor that autograd computed would lose its graph. Copy x.detach(), or use x.clone()."
            )
        with unseen_by_modes():
            payload = self.payload.clone()
        copy = ExactTensor(payload, dtype=self.dtype, shared=SharedNotes(self.shared.notes))
        copy.requires_grad_(self.requires_grad)
        if isinstance(self, torch.nn.Parameter):
            copy = torch.nn.Parameter(copy, self.requires_grad)  # type: ignore[assignment]
        if self.grad is not None:
            copy.grad = self.grad.__deepcopy__(memo)
        memo[id(self)] = copy
        return copy

    def __copy__(self) -> ExactTensor:
        return self.detach().requires_grad_(self.requires_grad)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return HOOKS.unpickled, (self.to_json(), self.requires_grad, isinstance(self, torch.nn.Parameter))

    # ---- what a person asks of it
    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What this result rests on that was not proved; empty for a fully exact result."""
        return tuple(sorted(self.shared.notes))

    @property
    def free_symbols(self) -> set[str]:
        """The letters that occur in it."""
        return set().union(*map(letters, self.elements()))

    def elements(self) -> list[Value]:
        """Its values in row-major order."""
        with unseen_by_modes():
            return values_of(self.payload)

    def nested(self, f: Callable[[Value], Any]) -> Any:
        """f of every value, each distinct one once, in nested lists of this tensor's shape (0-dim: one result)."""
        values = self.elements()
        found = {v: f(v) for v in dict.fromkeys(values)}
        return _nest([found[v] for v in values], self.shape)

    def float64(self) -> torch.Tensor:
        """The nearest doubles, as an ordinary tensor. Letters stand at their sample values."""
        with ARENA.working():
            values = self.elements()
            found = {v: to_float(v) for v in dict.fromkeys(values)}
            return torch.tensor([found[v] for v in values], dtype=torch.float64).reshape(self.shape)

    def decimals(self, digits: int = 6) -> Any:
        """Certified decimals with this many significant digits, as text in nested lists.

        >>> from workings import exact
        >>> exact("sqrt(2)").decimals(20)
        '1.4142135623730950488'
        """
        return self.nested(lambda v: decimals(v, digits))

    def sympy(self) -> Any:
        """SymPy expressions: one for a 0-dim tensor, else an immutable N-dim array."""
        import sympy

        from workings.exact.numbers.sympy_form import to_sympy

        found = self.nested(to_sympy)
        return found if self.dim() == 0 else sympy.ImmutableDenseNDimArray(found, tuple(self.shape))

    def _sympy_(self) -> Any:
        """What SymPy takes it for, as in sympy.sqrt(x)."""
        return self.sympy()

    def fraction(self) -> Any:
        """Python fractions in nested lists; an error where a value is not rational."""
        return self.nested(_fraction)

    def substitute(self, **letters: Any) -> ExactTensor:
        """The tensor with numbers (or other expressions) put in for letters."""
        return HOOKS.substitute(self, letters)

    def simplest(self) -> ExactTensor:
        """The same values in their simplest form, e.g. 1 for e/(1+e) + 1/(1+e)."""
        with ARENA.working():
            vs = [simplest(v) for v in self.elements()]
            return ExactTensor(payload_of(vs, self.shape), dtype=self.dtype, shared=SharedNotes(self.shared.notes))

    def text(self, *, width: int = 100) -> str:
        """The exact values as a Unicode matrix, in textbook form."""
        with ARENA.working():
            return grid(self.nested(lambda v: text(simplest(v))), width=width)

    def latex(self) -> str:
        """The exact values in LaTeX, in textbook form."""
        with ARENA.working():
            return tensor_latex(self.nested(simplest))

    def to_json(self) -> str:
        """The tensor as JSON text, sharing kept; `exact.from_json` reads it back."""
        return to_json(self.elements(), self.shape, self.dtype, self.assumptions)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return represent(self, self.nested(lambda v: v), len(self.assumptions))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return bundle("exact tensor", self)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else repr(self)

    def tolist(self) -> Any:
        """The nearest doubles in nested lists."""
        return self.nested(to_float)

    def numpy(self, *, force: bool = False) -> Any:
        """The nearest doubles as an array."""
        return self.float64().numpy()


KINDS.add(ExactTensor)


def _add_notes(result: Any, notes: Notes) -> None:
    if notes and isinstance(result, ExactTensor):
        result.shared.notes |= notes


def _fraction(v: Value) -> Fraction:
    q = simplest(v).rational
    if q is None:
        raise DomainError(
            f"A fraction was asked for, but {text(v)} is not known to be rational. Use .decimals(n) or .sympy()."
        )
    return Fraction(q) if isinstance(q, int) else Fraction(int(q.p), int(q.q))


def _nest(flat: list[Any], shape: Sequence[int]) -> Any:
    if not shape:
        return flat[0]
    if len(shape) == 1:
        return flat
    step = len(flat) // shape[0] if shape[0] else 0
    return [_nest(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]
