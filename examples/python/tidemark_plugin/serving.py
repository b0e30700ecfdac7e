"""The life of the process: magic cookie, handshake, health, the pipe that says that the daemon is gone, and the end."""

import json
import os
import signal
import sys
import threading
from concurrent import futures

import grpc

from tidemark.plugin.v1 import plugin_pb2 as pb
from tidemark.plugin.v1 import plugin_pb2_grpc as pb_grpc

from .assigning import AssignerService
from .options import check_options
from .sourcing import SourceService
from .windows import WindowsService

COOKIE_KEY, COOKIE_VALUE = "TIDEMARK_PLUGIN", "1b9d9bbf-event-time"
CORE_PROTOCOL, PLUGIN_PROTOCOL = 1, 1


def log(level, message, **values):
    """Writes a line to the daemon's log. level is trace, debug, info, warn or error."""
    line = {"@level": level, "@message": message, **values}
    print(json.dumps(line, default=str), file=sys.stderr, flush=True)


def serve(*plugins):
    """Serves plugin classes until the daemon is done with the process."""
    if os.environ.get(COOKIE_KEY) != COOKIE_VALUE:
        names = ", ".join(f"the {p.kind} {p.name!r}" for p in plugins)
        sys.exit(f"This is a Tidemark plugin: {names}.\nIt is started by tidemark and not by hand.")
    if os.environ.get("PLUGIN_CLIENT_CERT"):
        sys.exit("mtls is not supported by this plugin: remove `mtls = true` from its table")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt from the terminal is the daemon's to handle
    threading.Thread(target=_watch_daemon, daemon=True).start()

    over = threading.Event()
    counters = Counters()
    # A thread of the pool is taken as long as a stream lives.
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=64),
                         options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)])
    pb_grpc.add_PluginServicer_to_server(PluginService(plugins, counters), server)
    pb_grpc.add_AssignerServicer_to_server(AssignerService(plugins, counters), server)
    pb_grpc.add_SourceServicer_to_server(SourceService(plugins, counters), server)
    pb_grpc.add_TransformServicer_to_server(WindowsService(plugins, counters), server)
    server.add_generic_rpc_handlers([_GoPlugin(over)])
    path = os.path.join(os.environ.get("PLUGIN_UNIX_SOCKET_DIR") or "/tmp", f"plugin-{os.getpid()}")
    server.add_insecure_port("unix:" + path)
    server.start()
    print(f"{CORE_PROTOCOL}|{PLUGIN_PROTOCOL}|unix|{path}|grpc", flush=True)
    over.wait()
    server.stop(grace=1).wait()


def _watch_daemon():
    """Ends the process as soon as the daemon is gone, however it went."""
    fd = os.environ.get("TIDEMARK_LIVENESS_FD")
    if fd:
        os.read(int(fd), 1)  # the daemon never writes: this returns at the end of file
        os._exit(1)


class _GoPlugin(grpc.GenericRpcHandler):
    """The two services that go-plugin asks for. Their messages are so small that they are written by hand."""

    def __init__(self, over):
        self.over = over

    def service(self, call):
        if call.method == "/grpc.health.v1.Health/Check":
            return grpc.unary_unary_rpc_method_handler(lambda request, context: b"\x08\x01")  # status: SERVING
        if call.method == "/plugin.GRPCController/Shutdown":
            return grpc.unary_unary_rpc_method_handler(self.shutdown)
        return None

    def shutdown(self, request, context):
        self.over.set()
        return b""


class Counters:
    """The counters of all instances. They never fall while the process lives. Labels are to have few values: each is a series that lasts."""

    def __init__(self):
        self.lock = threading.Lock()
        self.values = {}

    def of(self, plugin, opened):
        place = (plugin.kind, plugin.name, opened.pipeline, opened.component)

        def count(name, help_text, n=1, **labels):
            with self.lock:
                key = (*place, name, tuple(sorted(labels.items())))
                _, before = self.values.get(key, ("", 0))
                self.values[key] = (help_text, before + n)

        return count

    def read(self):
        with self.lock:
            return [pb.Metric(kind=kind, plugin=plugin, pipeline=pipeline, component=component, name=name, help=text, value=value,
                              labels=[pb.Label(name=label, value=str(v)) for label, v in labels])
                    for (kind, plugin, pipeline, component, name, labels), (text, value) in self.values.items()]


class PluginService(pb_grpc.PluginServicer):
    """Answers questions about the executable."""

    def __init__(self, plugins, counters):
        self.plugins, self.counters = plugins, counters

    def List(self, request, context):
        return pb.ListResponse(plugins=[pb.Description(json=json.dumps(p.description()).encode()) for p in self.plugins])

    def Check(self, request, context):
        for p in self.plugins:
            if (p.kind, p.name) == (request.kind, request.plugin):
                return pb.CheckResponse(errors=check_options(p.options, json.loads(request.options or b"{}")))
        context.abort(grpc.StatusCode.NOT_FOUND, f"no {request.kind} {request.plugin!r} here")

    def Metrics(self, request, context):
        return pb.MetricsResponse(metrics=self.counters.read())
