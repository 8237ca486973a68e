"""The Clifford algebra of R^n, multiplied out blade by blade: slow, and obviously right.

A multivector is a dict from blades to coefficients; a blade is the ascending tuple of its basis
vectors' indices, `()` the unit.
"""

import itertools


def vector(components):
    return {(index,): float(value) for index, value in enumerate(components)}


def product(a, b):
    result = {}
    for (blade_a, value_a), (blade_b, value_b) in itertools.product(a.items(), b.items()):
        sign, blade = multiply_blades(blade_a, blade_b)
        result[blade] = result.get(blade, 0.0) + sign * value_a * value_b
    return result


def multiply_blades(a, b):
    """Sort the factors by swapping neighbours, `e_i e_j = -e_j e_i`, and drop pairs, `e_i^2 = 1`.

    Returns:
        The sign and the blade.
    """
    factors, sign = [*a, *b], 1
    position = 0
    while position < len(factors) - 1:
        first, second = factors[position], factors[position + 1]
        if first == second:
            del factors[position : position + 2]
            position = max(position - 1, 0)
        elif first > second:
            factors[position], factors[position + 1] = second, first
            sign = -sign
            position = max(position - 1, 0)
        else:
            position += 1
    return sign, tuple(factors)


def degree(multivector, of):
    """The homogeneous part of one degree (Definition A.1)."""
    return {blade: value for blade, value in multivector.items() if len(blade) == of}


def squared_magnitude(multivector):
    """The unit's coefficient in the reversion of A times A (Definition A.3)."""
    reversed_ = {}
    for blade, value in multivector.items():
        sign, same = multiply_blades((), ())
        for factor in blade:
            more, same = multiply_blades((factor,), same)
            sign *= more
        reversed_[same] = sign * value
    return product(reversed_, multivector).get((), 0.0)


def unsigned_scalar_product(*vectors):
    """Definition A.8: the magnitude of the product's parts of degree less than k."""
    whole = {(): 1.0}
    for each in vectors:
        whole = product(whole, vector(each))
    below = sum(squared_magnitude(degree(whole, of)) for of in range(len(vectors)))
    return below**0.5
