"""The Assigner service: one stream for each assigner of a pipeline, requests in order, an instance for each partition."""

import json

from tidemark.plugin.v1 import plugin_pb2 as pb
from tidemark.plugin.v1 import plugin_pb2_grpc as pb_grpc

from .batches import NONE, pack, pack_marks, unpack
from .options import check_options, read_options


class Assigner:
    """Says what time it is in the data of one partition. Subclass it; the daemon makes an instance for each partition."""

    kind = "assigner"
    name = ""
    summary = ""
    version = ""
    style = "periodic"  # or punctuated, marker
    options = []  # {"name", "type", "help", "default" or "required"}
    fields = []  # what it reads of a record: {"name", "type", "required"}
    snapshots = False  # True: snapshot and restore are there

    @classmethod
    def description(cls):
        return {"kind": cls.kind, "name": cls.name, "summary": cls.summary, "version": cls.version, "style": cls.style,
                "options": cls.options, "fields": cls.fields, "snapshots": cls.snapshots}

    def __init__(self, options, count):
        """options have their defaults filled in; count(name, help, n) raises a counter on the daemon's /metrics."""

    def assign(self, batch):
        """Looks at a batch and yields, for each row in order, (timestamp, watermark behind it or NONE), or a string that says why the
        row is refused. Watermarks that do not rise are left out afterwards, so it may yield its current one again and again."""
        raise NotImplementedError

    def watermark(self):
        """The current watermark, for a pipeline that asks on a timer; NONE if there is none."""
        return NONE

    def snapshot(self):
        return b""

    def restore(self, state):
        pass


class _Partition:
    def __init__(self, assigner):
        self.assigner = assigner
        self.high = NONE  # only rising watermarks are sent


class AssignerService(pb_grpc.AssignerServicer):
    def __init__(self, plugins, counters):
        self.plugins = {p.name: p for p in plugins if p.kind == "assigner"}
        self.counters = counters

    def Assign(self, requests, context):
        request = next(requests)
        opened = request.open.open
        plugin = self.plugins.get(opened.plugin)
        if plugin is None:
            yield pb.AssignerResponse(failed=pb.Failed(message=f"no assigner {opened.plugin!r} here"))
            return
        given = json.loads(opened.options or b"{}")
        wrong = check_options(plugin.options, given)
        if wrong:
            yield pb.AssignerResponse(failed=pb.Failed(message="wrong options", options=wrong))
            return
        yield pb.AssignerResponse(opened=pb.Opened())
        options = read_options(plugin.options, given)
        count = self.counters.of(plugin, opened)
        # A periodic assigner marks the watermark after each record only if it is asked to; otherwise ticks ask for it.
        marked = plugin.style != "periodic" or request.open.every_record
        partitions = {}
        try:
            for request in requests:
                response = self._handle(request, plugin, options, count, partitions, marked)
                if response is not None:
                    yield response
        except Exception as e:  # the pipeline restarts from its last commit
            yield pb.AssignerResponse(failed=pb.Failed(message=f"{type(e).__name__}: {e}"))

    def _handle(self, request, plugin, options, count, partitions, marked):
        which = request.WhichOneof("request")
        if which == "add":
            assigner = plugin(options, count)
            if request.add.state:
                assigner.restore(request.add.state)
            partitions[request.add.partition] = _Partition(assigner)
        elif which == "remove":
            partitions.pop(request.remove.partition, None)
        elif which == "rows":
            return pb.AssignerResponse(assigned=_assigned(partitions[request.rows.partition], request.rows, marked))
        elif which == "tick":
            marks = [partitions[p].assigner.watermark() for p in unpack("I", request.tick.partitions)]
            return pb.AssignerResponse(ticked=pb.Ticked(watermarks=pack("q", marks)))
        elif which == "barrier":
            states = []
            if plugin.snapshots:
                states = [pb.PartitionState(partition=p, state=x.assigner.snapshot()) for p, x in partitions.items()]
            return pb.AssignerResponse(snapshot=pb.Snapshot(id=request.barrier.id, partitions=states))
        return None  # add, remove, and requests that this version does not know, have no response


def _assigned(partition, batch, marked):
    out = pb.Assigned(rows=batch.rows)
    times, marks = [], []
    for row, answer in enumerate(partition.assigner.assign(batch)):
        if isinstance(answer, str):
            out.bad.add(row=row, code="refused", message=answer)
            times.append(NONE)
            continue
        timestamp, watermark = answer
        times.append(timestamp)
        if marked and watermark > partition.high:
            partition.high = watermark
            marks.append((row + 1, watermark))
    out.times, out.marks = pack("q", times), pack_marks(marks)
    return out
