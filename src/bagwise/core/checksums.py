"""CRC-32 of a whole from the CRC-32 of its pieces, without their bytes.

A CRC is the remainder of a polynomial over GF(2); so behind `length` more bytes it is multiplied with x^(8 length):

    crc(a + b) = crc(a) x^(8 |b|) + crc(b)    modulo the polynomial of CRC-32

Bits are reflected, as in zlib: the highest is the coefficient of x^0. Cost O(log length).
"""

from collections.abc import Iterable

POLYNOMIAL = 0xEDB88320
ONE, X_TO_8 = 1 << 31, 1 << 23


def together(pieces: Iterable[tuple[int, int]]) -> int:
    """The CRC of the pieces end to end, from the (CRC, number of bytes) of each.

    >>> import zlib
    >>> together([(zlib.crc32(b"bag"), 3), (zlib.crc32(b"wise"), 4)]) == zlib.crc32(b"bagwise")
    True
    """
    found = 0
    for checksum, length in pieces:
        found = _product(found, _x_to_bytes(length)) ^ checksum
    return found


def _x_to_bytes(length: int) -> int:
    power, square = ONE, X_TO_8
    while length:
        if length & 1:
            power = _product(power, square)
        square = _product(square, square)
        length >>= 1
    return power


def _product(a: int, b: int) -> int:
    found = 0
    for bit in range(31, -1, -1):
        if a >> bit & 1:
            found ^= b
        b = b >> 1 ^ (POLYNOMIAL if b & 1 else 0)
    return found
