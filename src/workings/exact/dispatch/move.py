"""Move: operations that only bring values to other places run the real kernel on the handles."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from workings.exact.dispatch.operation import is_exact, rule, run_on_stand_ins, schema_of, wrap_floats
from workings.exact.tensor.arena import handle_of
from workings.exact.tensor.lift import lift_number, payload

MOVE = frozenset(
    """
    clone cat stack gather index index_select index_put index_copy index_fill scatter where copy fill full_like masked_fill
    masked_scatter masked_select flip roll repeat constant_pad_nd zeros_like ones_like new_zeros new_ones new_full triu tril
    diag_embed take put _unsafe_view lift_fresh lift_fresh_copy reflection_pad1d reflection_pad2d reflection_pad3d
    replication_pad1d replication_pad2d replication_pad3d im2col pixel_shuffle pixel_unshuffle channel_shuffle
    repeat_interleave select_scatter slice_scatter diagonal_scatter as_strided_scatter embedding rot90 max_unpool2d
    max_unpool3d _unsafe_index contiguous block_diag select_backward slice_backward diagonal_backward _conj_physical eye
    as_strided_copy detach_copy alias_copy _reshape_copy view_copy expand_copy permute_copy t_copy transpose_copy lu_unpack
    squeeze_copy unsqueeze_copy select_copy slice_copy split_copy split_with_sizes_copy unbind_copy unfold_copy
    diagonal_copy narrow_copy _chunk_cat take_along_dim upsample_nearest1d upsample_nearest2d upsample_nearest3d
    _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
    resolve_conj resolve_neg _unsafe_masked_index new_empty_strided  native_channel_shuffle

    """.split()
)


def view(func: Any, given: dict[str, Any]) -> Any:
    """A view of the tensor is a view of its payload; assumptions are shared with it."""
    source = next(x for x in given.values() if is_exact(x))
    return wrap_floats(run_on_stand_ins(func, given, payload), source.shared)


def move(func: Any, given: dict[str, Any]) -> Any:
    """Run the kernel on handles, and check that it only moved them: arithmetic on handles would be silent nonsense."""
    seen = {0.0, 1.0}

    def handles(x: Any) -> torch.Tensor:
        p = payload(x)
        seen.update(p.reshape(-1).tolist())
        return p

    def number(x: Any) -> float:
        handle = handle_of(lift_number(x))
        seen.add(handle)
        return handle

    result = run_on_stand_ins(func, given, handles, number)
    for t in tree_flatten(result)[0]:
        if isinstance(t, torch.Tensor) and t.dtype == torch.float64:
            assert seen.issuperset(t.reshape(-1).tolist()), f"{schema_of(func).name} computed on handles"
    return wrap_floats(result)


@rule("_has_same_storage_numel")
def has_same_storage_numel(x: Any, y: Any) -> bool:
    """Whether forward-mode AD may give a tangent the layout of its primal."""
    return payload(x).untyped_storage().nbytes() == payload(y).untyped_storage().nbytes()
