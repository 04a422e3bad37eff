"""Totals over the pairs of a pool, estimated without bias from audits whose probabilities are known.

Audit m draws a pair i from the open pairs O_m with probability q_m(i), given everything before it. With the values y of
the pairs K_m known before it, and any control c (a prediction) that is fixed before the draw,

    T_m = sum over K_m of y + sum over O_m of c + (y_i - c_i) / q_m(i)

has the total of all y as its expectation given everything before, however the answers in K_m were chosen and however
the probabilities follow from them. So has every mean of the T_m with weights that are fixed in advance; with

    a_m = |O_m|^-2 / sum of these

it has nearly the least variance where draws are nearly uniform, as the LURE weights of Farquhar, Gal and Rainforth
(2021) have without chosen answers. T_1, T_2, ... minus the total are martingale differences, so that the variance of
the mean is the sum of a_m^2 Var(T_m | before), which the spread of the T_m around their mean estimates.
"""

from dataclasses import dataclass

import numpy as np

from bagwise.kernels import Array


@dataclass(frozen=True)
class Total:
    """An unbiased estimate of a total.

    Parameters
    ----------
    value : float
        The estimate, which may be outside of what is possible.
    standard_error : float
        Its standard error; infinite with fewer than two audits.

    Examples
    --------
    >>> Total(value=41.0, standard_error=4.0).value
    41.0
    """

    value: float
    standard_error: float


def total(values: Array, order: Array, control: Array, probability: Array) -> Total:
    """Estimate the total of the values of all pairs.

    Parameters
    ----------
    values : ndarray of float
        The values of the pairs, of any shape; nan where unknown.
    order : ndarray of float
        Of the same shape: when a value became known, a number that grows; -inf where it was known from the start, inf
        where it is unknown. What was answered together has the same number.
    control : ndarray of float
        What is predicted for every pair; the estimate is unbiased if a draw does not change it.
    probability : ndarray of float
        The probability with which the pair was drawn, for audits; nan for others.

    Returns
    -------
    Total
        Of the known values alone and the control, where there are no audits.

    Examples
    --------
    >>> values = np.array([1.0, 0.0, np.nan, np.nan])
    >>> order, probability = np.array([1, 2, np.inf, np.inf]), np.array([0.25, 1 / 3, np.nan, np.nan])
    >>> round(total(values, order, np.full(4, 0.5), probability).value, 2)
    2.08
    """
    flat = [one.ravel() for one in (values, order, control, probability)]
    by_time = np.argsort(flat[1], kind="stable")
    values, order, control, probability = (one[by_time] for one in flat)
    drawn = np.flatnonzero(~np.isnan(probability))
    known = np.concatenate([[0.0], np.cumsum(np.where(order == np.inf, 0.0, values))])
    left = np.concatenate([[0.0], np.cumsum(control[::-1])])[::-1]
    # What was answered together, as a whole bag, was open together, and is one draw.
    before, draw = np.unique(np.searchsorted(order, order[drawn], side="left"), return_inverse=True)
    surprise = np.bincount(draw, (values[drawn] - control[drawn]) / probability[drawn], len(before))
    estimates = known[before] + left[before] + surprise
    if not len(drawn):
        end = int(np.searchsorted(order, np.inf))
        return Total(float(known[end] + left[end]), 0.0 if end == len(order) else np.inf)
    weights = (len(order) - before).astype(float) ** -2.0
    weights /= weights.sum()
    value = float(weights @ estimates)
    if len(before) < 2:
        return Total(value, np.inf)
    spread = (weights**2 @ (estimates - value) ** 2) / (1 - weights @ weights)
    return Total(value, float(np.sqrt(spread)))
