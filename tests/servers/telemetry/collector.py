"""A collector that reads OTLP with the official messages, strictly, and prints a line for each span
and record: what they do not know is an error. The first line says where it listens."""

import base64
import http.server
import json
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import SEVERITY_NUMBER_INFO

KINDS = {"/v1/traces": ExportTraceServiceRequest, "/v1/logs": ExportLogsServiceRequest}
LENGTHS = {"traceId": 16, "spanId": 8, "parentSpanId": 8}


def tell(line):
    print(json.dumps(line), flush=True)


def lifted(value):
    """The ids of OTLP's JSON are hexadecimal, those of protobuf's are base64: the one difference."""
    if isinstance(value, list):
        return [lifted(item) for item in value]
    if not isinstance(value, dict):
        return value
    result = {key: lifted(item) for key, item in value.items()}
    for key, length in LENGTHS.items():
        if key in result:
            raw = bytes.fromhex(result[key])
            assert len(raw) == length, f"{key} has {len(raw)} bytes"
            result[key] = base64.b64encode(raw).decode()
    return result


def read(path, kind, body):
    message = KINDS[path]()
    if kind == "application/x-protobuf":
        message.ParseFromString(body)
    else:
        assert kind == "application/json", kind
        json_format.Parse(json.dumps(lifted(json.loads(body))), message)
    return message


def value(any_value):
    kind = any_value.WhichOneof("value")
    if kind == "kvlist_value":
        return pairs(any_value.kvlist_value.values)
    if kind == "array_value":
        return [value(item) for item in any_value.array_value.values]
    return getattr(any_value, kind) if kind else None


def pairs(attributes):
    return {pair.key: value(pair.value) for pair in attributes}


def spans(message):
    for group in message.resource_spans:
        resource = pairs(group.resource.attributes)
        for scope in group.scope_spans:
            for span in scope.spans:
                assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano, span
                yield {
                    "service": resource["service.name"],
                    "name": span.name,
                    "kind": span.kind,
                    "trace": span.trace_id.hex(),
                    "span": span.span_id.hex(),
                    "parent": span.parent_span_id.hex(),
                    "state": span.trace_state,
                    "status": span.status.code,
                    "attributes": pairs(span.attributes),
                }


def records(message):
    for group in message.resource_logs:
        resource = pairs(group.resource.attributes)
        for scope in group.scope_logs:
            for record in scope.log_records:
                assert 0 < record.time_unix_nano <= record.observed_time_unix_nano, record
                assert record.severity_number == SEVERITY_NUMBER_INFO, record
                yield {
                    "service": resource["service.name"],
                    "scope": scope.scope.name,
                    "event": record.event_name,
                    "severity": record.severity_text,
                    "trace": record.trace_id.hex(),
                    "span": record.span_id.hex(),
                    "flags": record.flags,
                    "record": value(record.body),
                }


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = 200
        try:
            message = read(self.path, self.headers["Content-Type"], body)
            lines = spans(message) if self.path == "/v1/traces" else records(message)
            for line in lines:
                tell({**line, "key": self.headers.get("x-key")})
        except Exception as error:
            status = 400
            tell({"wrong": repr(error), "body": body.decode(errors="replace")})
        answer = b"{}"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    tell({"port": server.server_port})
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)
