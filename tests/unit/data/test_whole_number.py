import numpy as np
import pytest

from coterie.data.whole_number import whole_number


@pytest.mark.parametrize("value", [0, -3, np.int64(7), np.uint8(255), 2**70])
def test_whole_numbers_are_those_of_python_and_numpy(value):
    found = whole_number(value)
    assert found == value
    assert type(found) is int


@pytest.mark.parametrize("value", [True, np.True_, 2.0, np.float32(2), "2", None, [2], np.array([2])])
def test_nothing_else_is_one(value):
    assert whole_number(value) is None
