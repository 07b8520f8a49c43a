"""What runs in the pods of the isolation tests: listeners, stand-ins for clouds, routes to them, and the runner's attack."""

from pathlib import Path

from tests.e2e import attack_script
from tests.e2e.attacks import INTERNET, METADATA, PRIVATE, UDP_PORT

SCRIPT = Path(attack_script.__file__).read_text()
"""Makes attempts."""
LISTEN = f"""
import http.server, socket, threading
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("", {UDP_PORT}))
def echo():
    while True:
        data, peer = udp.recvfrom(100)
        udp.sendto(b"reached", peer)
threading.Thread(target=echo, daemon=True).start()
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "7")
        self.end_headers()
        self.wfile.write(b"reached")
    do_POST = do_GET
    def log_message(self, *args): pass
import sys
http.server.ThreadingHTTPServer(("", int(sys.argv[1])), Handler).serve_forever()
"""
STAND_IN = f"""
import fcntl, socket, struct
def address(ip): return struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(ip))
made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number, ip in enumerate({[*METADATA.values(), PRIVATE, INTERNET]}):
    name = f"lo:{{number}}".encode()
    fcntl.ioctl(made, 0x8916, struct.pack("16s16s", name, address(ip)))  # SIOCSIFADDR
    fcntl.ioctl(made, 0x891C, struct.pack("16s16s", name, address("255.255.255.255")))  # SIOCSIFNETMASK
{LISTEN}
"""
"""A pod that has the addresses of clouds and the internet."""
ROUTES = f"""
import fcntl, signal, socket, struct, sys
def number(ip): return struct.unpack("=I", socket.inet_aton(ip))[0]
def address(ip): return struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(ip))
pod, best, gateway = sys.argv[1], -1, ""
for line in open("/proc/net/route").read().splitlines()[1:]:
    _, where, via, _, _, _, _, mask, *_ = line.split()
    where, via, mask = int(where, 16), int(via, 16), int(mask, 16)
    if number(pod) & mask == where and bin(mask).count("1") > best:
        best, gateway = bin(mask).count("1"), socket.inet_ntoa(struct.pack("=I", via))
gateway = pod if gateway in ("", "0.0.0.0") else gateway
made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def change(request):
    for ip in {[*METADATA.values(), PRIVATE, INTERNET]}:
        flags = 1 | 2 | 4  # RTF_UP, RTF_GATEWAY, RTF_HOST
        parts = (0, address(ip), address(gateway), address("255.255.255.255"), flags)
        entry = struct.pack("L16s16s16sHhLPhPLLH", *parts, 0, 0, 0, 0, 0, 0, 0, 0)
        fcntl.ioctl(made, request, entry)
def end(*_):
    change(0x890C)  # SIOCDELRT
    sys.exit()
signal.signal(signal.SIGTERM, end)
change(0x890B)  # SIOCADDRT
open("/tmp/ready", "w").close()
signal.pause()
"""
"""Run on a node: it sends there what is for these addresses. A node has no route to them otherwise."""

PATIENCE = 1500
"""Seconds for which the runner waits for its targets: the tests with an admin and with pods come before."""
RUNNER_STEP = f"""#!/bin/bash
set -e
kubectl wait --for=create configmap/targets --timeout={PATIENCE}s
kubectl get configmap targets -o 'jsonpath={{.data.targets}}' > /tmp/targets
cat > /tmp/attack.py <<'END'
{SCRIPT}
END
python3 /tmp/attack.py /tmp/targets > /tmp/found
kubectl create configmap found --from-file=found=/tmp/found
"""
