"""What a Tidemark plugin in Python needs: grpcio and the generated code in tidemark/plugin/v1, and nothing else.

    from tidemark_plugin import Assigner, serve

    class Mine(Assigner): ...

    serve(Mine)

It is written to be read beside docs/plugins/protocol.md: serving.py is the start and the end of the process, options.py checks options,
batches.py packs and unpacks vectors; assigning.py, sourcing.py and windows.py are the streams.
"""

from .assigning import Assigner
from .batches import INT64_MAX, NONE, Kind, cells, pack_marks
from .serving import log, serve
from .sourcing import Partition, Source
from .windows import Aggregate, Refused, Window, WindowFunction

END_OF_INPUT = INT64_MAX

__all__ = ["Aggregate", "Assigner", "Partition", "Refused", "Source", "Window", "WindowFunction", "Kind", "NONE", "END_OF_INPUT", "cells", "pack_marks", "log", "serve"]
