"""Reads a trace by the messages of the package `perfetto` of PyPI, and prints as JSON what is in it."""

import json
import sys

try:
    from google.protobuf.unknown_fields import UnknownFieldSet
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
except ImportError:
    sys.exit(3)


def unknown(message):
    """The number of fields that the package does not know."""
    count = len(UnknownFieldSet(message))
    for _, value in message.ListFields():
        values = [value] if hasattr(value, "ListFields") else value
        if not isinstance(values, (str, bytes, int, float)):
            count += sum(unknown(one) for one in values if hasattr(one, "ListFields"))
    return count


trace = Trace()
with open(sys.argv[1], "rb") as file:
    trace.ParseFromString(file.read())

tracks = {}
last = 0
begun, ended, problems = set(), set(), []
for packet in trace.packet:
    if packet.HasField("track_descriptor"):
        one = packet.track_descriptor
        parent = tracks[one.parent_uuid]["name"] if one.HasField("parent_uuid") else None
        tracks[one.uuid] = {"name": one.name, "parent": parent, "spans": [], "values": [], "open": []}
        continue
    if packet.timestamp < last:
        problems.append(f"the time {packet.timestamp} comes after {last}")
    last = packet.timestamp
    event = packet.track_event
    track = tracks[event.track_uuid]
    if event.type == TrackEvent.TYPE_SLICE_BEGIN:
        track["open"].append((last, event.name))
    elif event.type == TrackEvent.TYPE_SLICE_END:
        start, name = track["open"].pop()
        track["spans"].append((start, last, name))
    elif event.type == TrackEvent.TYPE_COUNTER:
        track["values"].append((last, event.counter_value))
    begun.update(event.flow_ids)
    ended.update(event.terminating_flow_ids)

if begun != ended:
    problems.append("a flow has no end")
problems += [f"a span of {track['name']} has no end" for track in tracks.values() if track["open"]]
if unknown(trace):
    problems.append("there are fields that are not known")
print(json.dumps({"tracks": list(tracks.values()), "flows": len(begun), "problems": problems}))
