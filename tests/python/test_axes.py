# SPDX-License-Identifier: Apache-2.0
import pytest

from offramp import _offramp


@pytest.mark.parametrize(
    "shape, axes",
    [
        ((480, 832), "hw"),
        ((480, 832, 3), "hwc"),
        ((3, 480, 832), "chw"),
        ((16, 480, 832), "nhw"),
        ((16, 480, 832, 3), "nhwc"),
        ((3, 480, 832, 3), "nhwc"),
        ((16, 3, 480, 832), "nchw"),
        ((1, 3, 480, 832), "nchw"),
        ((3, 16, 480, 832), "cnhw"),
        ((3, 1, 480, 832), "cnhw"),
        ((1, 3, 1, 480, 832), "cnhw"),
        ((1, 3, 4, 480, 832), "cnhw"),
        ((1, 4, 3, 480, 832), "nchw"),
        ((1, 16, 3, 480, 832), "nchw"),
        ((1, 16, 480, 832, 3), "nhwc"),
    ],
)
def test_axes_are_guessed_where_they_can_be(shape, axes):
    assert _offramp.guess_axes(shape) == axes


@pytest.mark.parametrize("shape", [(3, 4, 480, 832), (4, 3, 480, 832), (3, 3, 480, 832), (4, 4, 8, 8), (1, 4, 8, 8), (1, 1, 8, 8), (1, 3, 3, 8, 8)])
def test_what_may_be_two_things_is_refused(shape):
    with pytest.raises(ValueError, match="nchw"):
        _offramp.guess_axes(shape)


@pytest.mark.parametrize("shape", [(), (5,), (2, 480, 832, 5), (2, 3, 4, 8, 8), (1, 2, 3, 4, 5, 6)])
def test_what_is_no_picture_is_refused(shape):
    with pytest.raises(ValueError, match="axes"):
        _offramp.guess_axes(shape)
