"""The Source service: batches go out as far as there is credit, requests come in beside them."""

import json
import queue
import threading

from tidemark.plugin.v1 import plugin_pb2 as pb
from tidemark.plugin.v1 import plugin_pb2_grpc as pb_grpc

from .batches import NONE, Builder
from .options import check_options, read_options


class Stopped(Exception):
    """Raised out of Partition's methods, and of wait, when the source is to end."""


class Source:
    """Brings records in. Subclass it; the daemon makes one for each component, and calls run once."""

    kind = "source"
    name = ""
    summary = ""
    version = ""
    options = []
    output = []  # the fields of its records: (name, float | int | str)

    @classmethod
    def description(cls):
        types = {float: "float", int: "int", str: "string"}
        return {"kind": cls.kind, "name": cls.name, "summary": cls.summary, "version": cls.version, "options": cls.options,
                "output": [{"name": name, "type": types[kind]} for name, kind in cls.output]}

    def __init__(self, options, count):
        """options have their defaults filled in; count(name, help, n) raises a counter on the daemon's /metrics."""

    def run(self, out):
        """Collects records through out.partition(name) until the input ends."""
        raise NotImplementedError

    def committed(self, partition, position):
        """Everything of the partition up to position is committed; it will not be asked for again."""


class Partition:
    """A part of a source with an order, positions and a watermark of its own."""

    def __init__(self, stream, number, position):
        self._stream, self._number = stream, number
        self.position = position  # where an earlier run has committed, or b""
        self._batch = Builder(stream.fields)
        self._high = NONE

    def collect(self, row, position, timestamp=NONE, watermark=NONE):
        """A record, a tuple of the output's fields; where to go on behind it; its event time; and the watermark behind it."""
        self._stream.check()
        b = self._batch
        b.rows.append(row)
        b.times.append(timestamp)
        b.position = position
        if watermark > self._high:
            self._high = watermark
            b.marks.append((len(b.rows), watermark))
        if len(b.rows) >= self._stream.batch_rows:
            self.flush()

    def flush(self):
        """Sends what has been collected. A source that waits for something does it before."""
        if self._batch.rows:
            batch, self._batch = self._batch.build(self._number), Builder(self._stream.fields)
            self._stream.send(batch)

    def idle(self):
        """Nothing is to be expected for now: the others need not wait for this partition."""
        self.flush()
        self._stream.put(pb.SourceResponse(idle=pb.PartitionEvent(partition=self._number)))

    def end(self):
        """The partition has come to its end."""
        self.flush()
        self._stream.put(pb.SourceResponse(ended=pb.PartitionEvent(partition=self._number)))


class _Stream:
    """One run of a source: run works in a thread and puts responses into a queue, which the stream's own thread sends."""

    def __init__(self, source, opened):
        self.source = source
        self.fields = source.output
        self.batch_rows = opened.batch_rows or 4096
        self.restored = {p.name: p for p in opened.restored}
        self.names = []
        self.credit = threading.Semaphore(opened.credits or 1)
        self.partitions = []
        self.stopping = threading.Event()  # the daemon has asked for the end
        self.gone = threading.Event()  # the stream is over: nobody listens any more
        self.responses = queue.Queue(maxsize=64)

    def partition(self, name):
        number = len(self.names)
        self.names.append(name)
        self.put(pb.SourceResponse(added=pb.PartitionAdded(partition=number, name=name)))
        restored = self.restored.get(name)
        partition = Partition(self, number, restored.position if restored else b"")
        self.partitions.append(partition)
        return partition

    def wait(self, seconds):
        """Sends what has been collected, and pauses; the pause ends early when the source is to end."""
        self.flush()
        if self.stopping.wait(seconds):
            raise Stopped

    def flush(self):
        for p in self.partitions:
            p.flush()

    def check(self):
        if self.stopping.is_set():
            raise Stopped

    def send(self, batch):
        while not self.credit.acquire(timeout=0.1):
            if self.gone.is_set():
                raise Stopped
        self.put(pb.SourceResponse(batch=batch))

    def put(self, response):
        while not self.gone.is_set():
            try:
                return self.responses.put(response, timeout=0.1)
            except queue.Full:
                pass
        raise Stopped

    def work(self):
        last = pb.SourceResponse(done=pb.SourceDone())
        try:
            try:
                self.source.run(self)
            except Stopped:
                last = pb.SourceResponse(stopped=pb.SourceDone())
            self.flush()
        except Stopped:
            return
        except Exception as e:  # the pipeline restarts from its last commit
            last = pb.SourceResponse(failed=pb.Failed(message=f"{type(e).__name__}: {e}"))
        self.put(last)

    def end(self):
        """The other side has ended the stream, however it did."""
        self.stopping.set()
        self.gone.set()

    def listen(self, requests):
        try:
            for request in requests:
                which = request.WhichOneof("request")
                if which == "credit":
                    self.credit.release(request.credit)
                elif which == "ack":
                    self.source.committed(self.names[request.ack.partition], request.ack.position)
                elif which == "stop":
                    self.stopping.set()
        finally:
            self.end()


class SourceService(pb_grpc.SourceServicer):
    def __init__(self, plugins, counters):
        self.plugins = {p.name: p for p in plugins if p.kind == "source"}
        self.counters = counters

    def Run(self, requests, context):
        opened = next(requests).open
        plugin = self.plugins.get(opened.open.plugin)
        if plugin is None:
            yield pb.SourceResponse(failed=pb.Failed(message=f"no source {opened.open.plugin!r} here"))
            return
        given = json.loads(opened.open.options or b"{}")
        wrong = check_options(plugin.options, given)
        if wrong:
            yield pb.SourceResponse(failed=pb.Failed(message="wrong options", options=wrong))
            return
        yield pb.SourceResponse(opened=pb.Opened())
        stream = _Stream(plugin(read_options(plugin.options, given), self.counters.of(plugin, opened.open)), opened)
        context.add_callback(stream.end)
        threading.Thread(target=stream.listen, args=(requests,), daemon=True).start()
        threading.Thread(target=stream.work, daemon=True).start()
        while not stream.gone.is_set():
            try:
                response = stream.responses.get(timeout=0.1)
            except queue.Empty:
                continue
            yield response
            if response.WhichOneof("response") in ("done", "stopped", "failed"):
                return
