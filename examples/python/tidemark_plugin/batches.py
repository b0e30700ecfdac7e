"""Vectors. All of them are fixed-width little-endian numbers in one bytes field; nothing is ever packed value by value."""

import struct
from enum import IntEnum

from tidemark.plugin.v1 import batch_pb2

NONE = -(1 << 63)  # no timestamp, no watermark
INT64_MAX = (1 << 63) - 1  # as a watermark: the end of input

_EXTRA = 1 << 63  # a reference into Batch.extra instead of Batch.data


class Kind(IntEnum):
    """What one cell holds."""

    MISSING, NULL, BOOL, INT, UINT, FLOAT, STRING, JSON, TIME = range(9)


def unpack(code, data):
    """All values of a vector: code is q (int64), Q (uint64), I (uint32) or d (float64)."""
    return struct.unpack(f"<{len(data) // struct.calcsize('<' + code)}{code}", data)


def pack(code, values):
    return struct.pack(f"<{len(values)}{code}", *values)


def pack_marks(marks):
    """Watermarks between rows: pairs of the number of rows before and the watermark."""
    return b"".join(struct.pack("<IIq", after, 0, watermark) for after, watermark in marks)


def cells(batch, name):
    """A column as (kind, value) pairs; value is None where there is none. A column that no row has is all MISSING."""
    for column in batch.columns:
        if column.name == name:
            kinds = column.kinds or bytes([column.kind]) * batch.rows
            bits = unpack("Q", column.bits) if column.bits else (0,) * batch.rows
            return [(Kind(k), _value(batch, k, b)) for k, b in zip(kinds, bits)]
    return [(Kind.MISSING, None)] * batch.rows


def _value(batch, kind, bits):
    if kind in (Kind.MISSING, Kind.NULL):
        return None
    if kind == Kind.BOOL:
        return bits != 0
    if kind in (Kind.INT, Kind.TIME):
        return bits - (1 << 64) if bits >> 63 else bits
    if kind == Kind.FLOAT:
        return struct.unpack("<d", struct.pack("<Q", bits))[0]
    if kind in (Kind.STRING, Kind.JSON):
        start, length = (bits & ~_EXTRA) >> 32, bits & 0xFFFFFFFF
        return (batch.extra if bits & _EXTRA else batch.data)[start:start + length].decode()
    return bits


class Builder:
    """Collects the rows of one batch, a tuple each. fields are (name, type) with the type float, int, str or bool; None is null."""

    def __init__(self, fields):
        self.fields = fields
        self.rows, self.times, self.marks = [], [], []
        self.position = b""

    def build(self, partition):
        b = batch_pb2.Batch(rows=len(self.rows), partition=partition, position=self.position, marks=pack_marks(self.marks))
        if any(t != NONE for t in self.times):
            b.times = pack("q", self.times)
        extra = bytearray()
        columns = zip(*self.rows) if self.rows else ()
        for (name, kind), values in zip(self.fields, columns):
            _add_column(b, extra, name, kind, values)
        b.extra = bytes(extra)
        return b


def _add_column(b, extra, name, kind, values):
    cell = {float: Kind.FLOAT, int: Kind.INT, str: Kind.STRING, bool: Kind.BOOL}[kind]
    column = b.columns.add(name=name, kind=cell)
    if None in values:  # then each cell has a kind of its own
        column.kind = 0
        column.kinds = bytes(Kind.NULL if v is None else cell for v in values)
    if kind is float:
        column.bits = pack("d", [v or 0.0 for v in values])
    elif kind is int:
        column.bits = pack("q", [v or 0 for v in values])
    elif kind is bool:
        column.bits = pack("Q", [int(v or False) for v in values])
    else:
        references = []
        for text in values:
            data = (text or "").encode()
            references.append(_EXTRA | len(extra) << 32 | len(data))
            extra += data
        column.bits = pack("Q", references)
