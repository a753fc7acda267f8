"""crosscut's own reader of a run's arrays agrees with zarr's."""

from __future__ import annotations

from typing import Any

import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from stored_run import make_run

from crosscut.run.run import Run


@pytest.fixture(scope="module")
def partly(tmp_path_factory: pytest.TempPathFactory) -> tuple[xr.Dataset, xr.Dataset]:
    """A run with chunks that were never written, opened by zarr and by crosscut."""
    run = make_run(tmp_path_factory.mktemp("partly") / "run.zarr", measured_repetitions=3)
    return xr.open_zarr(run, chunks=None, consolidated=True).drop_vars("checksum"), Run.open(run).dataset


def keys(extent: int) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.integers(-extent, extent - 1),
        # xarray fails on empty slices with negative step
        st.slices(extent).filter(lambda key: (key.step or 1) > 0 or len(range(extent)[key]) > 0),
        st.lists(st.integers(0, extent - 1), min_size=1, max_size=4),
    )


@settings(max_examples=100, deadline=None, database=None)
@given(data=st.data())
def test_any_slice_equals_zarr_s(partly: tuple[xr.Dataset, xr.Dataset], data: st.DataObject) -> None:
    expected, found = partly
    name = data.draw(st.sampled_from(sorted(map(str, expected.variables))))
    array = expected[name]
    at = {dimension: data.draw(keys(extent)) for dimension, extent in array.sizes.items()}
    xr.testing.assert_identical(found[name].isel(at).variable, array.isel(at).variable)
    assert found[name].dtype == array.dtype
