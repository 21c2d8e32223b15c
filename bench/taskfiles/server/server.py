#!/usr/bin/env python3
"""Takes jobs by HTTP and logs the end of each, a while after it has answered."""
import http.server
import sys
import threading
import time


def finish():
    print(f"job {open('key').read()} finished", flush=True)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        open("asked", "w").close()
        threading.Timer(1.5, finish).start()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"queued\n")


time.sleep(1)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"listening on {server.server_port}", flush=True)
try:
    server.serve_forever()
except KeyboardInterrupt:
    print("stopped", flush=True)
    sys.exit(7)
