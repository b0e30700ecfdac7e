"""Options: what a plugin describes is checked here, and given to it with defaults filled in."""

import re

from tidemark.plugin.v1 import plugin_pb2 as pb

_UNITS = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def milliseconds(text):
    """Reads a duration such as "5s", "200ms" or "1m30s"."""
    if text in ("0", 0):
        return 0
    if not isinstance(text, str) or not re.fullmatch(r"(\d+(\.\d+)?(ns|us|µs|ms|s|m|h|d|w))+", text):
        raise ValueError(f'{text!r} is no duration; write it like "5s" or "200ms"')
    return round(sum(float(n) * _UNITS[unit] for n, unit in re.findall(r"([\d.]+)([a-zµ]+)", text)))


def _whole(value):
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{value!r} is no whole number")
    return value


def _text(value):
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no string")
    return value


def _truth(value):
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def _texts(value):
    return [_text(v) for v in (value if isinstance(value, list) else [value])]


_DEFAULTS = {"int": int, "bool": lambda text: text == "true", "strings": lambda text: text.split(",")}  # which are texts, as in a pipeline file
_READERS = {"string": _text, "int": _whole, "bool": _truth, "duration": milliseconds, "strings": _texts}


def _errors(described, given):
    known = {o["name"]: o for o in described}
    for name, value in given.items():
        if name not in known:
            yield pb.OptionError(path=[name], reason="unknown", message=f"there is no option {name!r}",
                                 hint="the options are " + ", ".join(known) if known else "there are none")
            continue
        try:
            _READERS[known[name]["type"]](value)
        except ValueError as e:
            yield pb.OptionError(path=[name], reason="type", message=f"{name}: {e}")
    for o in described:
        if o.get("required") and o["name"] not in given:
            yield pb.OptionError(path=[o["name"]], reason="missing", message=f"the option {o['name']!r} is missing", hint=o["help"])


def check_options(described, given):
    """What is wrong with options, all of it at once."""
    return list(_errors(described, given))


def read_options(described, given):
    """The values of all options that are set or have a default. Durations are milliseconds."""
    out = {}
    for o in described:
        value = given.get(o["name"])
        if value is None and "default" in o:
            value = _DEFAULTS.get(o["type"], str)(o["default"])
        if value is not None:
            out[o["name"]] = _READERS[o["type"]](value)
    return out
