"""The Transform service as aggregates and window functions use it: windows come with all their records, and results go back."""

import json

from tidemark.plugin.v1 import plugin_pb2 as pb
from tidemark.plugin.v1 import plugin_pb2_grpc as pb_grpc

from .batches import Builder, Kind, cells, pack, unpack
from .options import check_options, read_options

_TYPES = {float: "float", int: "int", str: "string", bool: "bool"}


class Refused(Exception):
    """Raised by result and process: the window gives no result, but a row in its errors port with this text."""


class _OfWindows:
    name = ""
    summary = ""
    version = ""
    options = []
    fields = []  # what it reads of a record: {"name", "type", "required"}; the type is any, bool, int, float, string or timestamp

    def __init__(self, options, count):
        """options have their defaults filled in; count(name, help, n, **labels) raises a counter on the daemon's /metrics."""

    @classmethod
    def description(cls):
        return {"kind": cls.kind, "name": cls.name, "summary": cls.summary, "version": cls.version, "options": cls.options,
                "fields": cls.fields, "output": [{"name": name, "type": _TYPES[kind]} for name, kind in cls.columns()]}


class Aggregate(_OfWindows):
    """Folds the records of a window into one value. Subclass it; the daemon makes one for each column that names it.

    What it gives depends on the records and on nothing else: the daemon keeps them, and asks again when a window fires again."""

    kind = "aggregate"
    gives = float  # or int, str, bool

    @classmethod
    def columns(cls):
        return [("result", cls.gives)]

    def result(self, records):
        """records are (timestamp, value of the first field, of the second, ...), by event time. Returns the value, or None for null."""
        raise NotImplementedError


class Window:
    """What is known about a window: start and end in milliseconds (None for a global window), and values: its keys, and aggregates beside."""

    def __init__(self, values):
        self.start, self.end, self.values = values.pop("window_start", None), values.pop("window_end", None), values


class WindowFunction(_OfWindows):
    """Makes rows of a window with all its records. Subclass it; the daemon makes one for each step that names it."""

    kind = "window"
    output = []  # the fields of its rows: (name, float | int | str | bool)

    @classmethod
    def columns(cls):
        return cls.output

    def process(self, window, records):
        """Yields rows, a tuple of the output's fields each; None is null. records are as for Aggregate.result."""
        raise NotImplementedError


def _fits(wanted, kind):
    """Whether a cell can be a field of that type. A whole number can be a float."""
    return {"any": True, "bool": kind == Kind.BOOL, "int": kind in (Kind.INT, Kind.UINT), "float": kind in (Kind.INT, Kind.UINT, Kind.FLOAT),
            "string": kind == Kind.STRING, "timestamp": kind == Kind.TIME}[wanted]


class WindowsService(pb_grpc.TransformServicer):
    def __init__(self, plugins, counters):
        self.plugins = {(p.kind, p.name): p for p in plugins if p.kind in ("aggregate", "window")}
        self.counters = counters

    def Process(self, requests, context):
        opened = next(requests).open
        plugin = self.plugins.get((opened.kind, opened.plugin))
        if plugin is None:
            yield pb.TransformResponse(failed=pb.Failed(message=f"no {opened.kind} {opened.plugin!r} here"))
            return
        given = json.loads(opened.options or b"{}")
        wrong = check_options(plugin.options, given)
        if wrong:
            yield pb.TransformResponse(failed=pb.Failed(message="wrong options", options=wrong))
            return
        count = self.counters.of(plugin, opened)
        try:
            instance = plugin(read_options(plugin.options, given), count)
            yield pb.TransformResponse(opened=pb.Opened())
            for request in requests:
                if request.WhichOneof("request") == "windows":  # what this version does not know has no response
                    yield pb.TransformResponse(transformed=_fire(instance, request.windows, count))
        except Exception as e:  # the pipeline restarts from its last commit
            yield pb.TransformResponse(failed=pb.Failed(message=f"{type(e).__name__}: {e}"))


def _records(instance, batch, count):
    """The records that the plugin gets, and None for those that lack a required field, or have a value of another type in one."""
    columns = []
    usable = [True] * batch.rows
    for field in instance.fields:
        column = []
        for row, (kind, value) in enumerate(cells(batch, field["name"])):
            if value is None and field.get("required") or value is not None and not _fits(field["type"], kind):
                usable[row] = False
            column.append(value)
        columns.append(column)
    if not all(usable):
        count("records_left_out_total", "Records without a required field, or with a value of another type in one.", usable.count(False))
    return [row if ok else None for ok, *row in zip(usable, unpack("q", batch.times), *columns)]


def _fire(instance, request, count):
    records = _records(instance, request.records, count)
    names = [c.name for c in request.windows.columns]
    values = [cells(request.windows, name) for name in names]
    out = Builder(instance.columns())
    answer = pb.Transformed()
    origin = []
    begin = 0
    for window, length in enumerate(unpack("I", request.counts)):
        own = [r for r in records[begin:begin + length] if r is not None]
        begin += length
        try:
            if instance.kind == "aggregate":
                rows = [(instance.result(own),)]
            else:
                rows = list(instance.process(Window({name: v[window][1] for name, v in zip(names, values)}), own))
        except Refused as e:
            answer.bad.add(row=window, code="refused", message=str(e))
            continue
        out.rows += rows
        origin += [window] * len(rows)
    answer.rows.CopyFrom(out.build(0))
    answer.origin = pack("I", origin)
    return answer
