"""Logarithm and power as Terraform rounds them, to the last digit.

The C library rounds some results differently, so the two are computed here step by step: the
logarithm by the series of fdlibm, the power by squaring.
"""

import math
from typing import Final

_LN2_HIGH: Final = 6.93147180369123816490e-01
_LN2_LOW: Final = 1.90821492927058770002e-10
_ODD_TERMS: Final = (
    6.666666666666735130e-01,
    2.857142874366239149e-01,
    1.818357216161805012e-01,
    1.479819860511658591e-01,
)
_EVEN_TERMS: Final = (
    3.999999999940941908e-01,
    2.222219843214978396e-01,
    1.531383769920937332e-01,
)
_FAR: Final = 1 << 12


def natural_log(number: float) -> float:
    """Natural logarithm of a positive number; raises ValueError where a float takes it for zero."""
    if number == 0:
        raise ValueError(number)
    mantissa, exponent = math.frexp(number)
    if mantissa < math.sqrt(2) / 2:
        mantissa, exponent = mantissa * 2, exponent - 1
    excess = mantissa - 1
    ratio = excess / (2 + excess)
    square = ratio * ratio
    fourth = square * square
    odd, even = _series(fourth, _ODD_TERMS), _series(fourth, _EVEN_TERMS)
    rest = square * odd + fourth * even
    half = 0.5 * excess * excess
    correction = ratio * (half + rest) + exponent * _LN2_LOW
    return exponent * _LN2_HIGH - ((half - correction) - excess)


def _series(variable: float, factors: tuple[float, ...]) -> float:
    total = 0.0
    for each in reversed(factors):
        total = each + variable * total
    return total


def power(base: float, exponent: float) -> float:
    """Power of two finite numbers.

    Raises:
        ValueError: the base is negative and the exponent not whole.
        OverflowError: the result is too large for a float, or the base is zero and the exponent
            negative.

    """
    if base == 0:
        return _power_of_zero(exponent)
    if abs(exponent) == 0.5:  # noqa: PLR2004 - the square root
        root = math.sqrt(base)
        return root if exponent > 0 else 1 / root
    part, whole = math.modf(abs(exponent))
    if part and base < 0:
        raise ValueError(base)
    factor = 1.0
    if part > 0.5:  # noqa: PLR2004 - the nearer whole number
        part, whole = part - 1, whole + 1
    if part:
        factor = math.exp(part * natural_log(base))
    return _squared(base, int(whole), factor, is_inverse=exponent < 0)


def _power_of_zero(exponent: float) -> float:
    if exponent < 0:
        raise OverflowError
    return 0.0 if exponent else 1.0


def _squared(base: float, whole: int, factor: float, *, is_inverse: bool) -> float:
    scale = 0
    mantissa, shift = math.frexp(base)
    while whole:
        if not -_FAR <= shift <= _FAR:
            scale += shift
            break
        if whole & 1:
            factor *= mantissa
            scale += shift
        mantissa, shift = mantissa * mantissa, shift * 2
        if mantissa < 0.5:  # noqa: PLR2004 - a mantissa lies between a half and one
            mantissa, shift = mantissa * 2, shift - 1
        whole >>= 1
    return math.ldexp(1 / factor, -scale) if is_inverse else math.ldexp(factor, scale)
