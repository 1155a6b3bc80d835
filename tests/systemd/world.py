# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The internet in a network namespace behind a gateway: public numbers are somebody's there, a name server says whose,
web servers answer. Nothing leaves the guest.

    here   9.8.8.2  --- near ... far ---  9.8.8.1   there: 9.9.9.9 names, 8.8.8.9 pages, and what must not be reached
"""
import os
import signal
import socket
import subprocess
import time

from harness import must, read, run, wait_for, write

TOP = "/srv/world"
PCAP = f"{TOP}/uplink.pcap"
CA = "/usr/local/share/ca-certificates/world.crt"
NAMES, NAMES6, PAGES, OTHER = "9.9.9.9", "2001:4860::8", "8.8.8.9", "8.8.4.4"
# Where pages are served, too, and nobody of a policy may come: a private network, a cloud's metadata.
PRIVATE, METADATA = "10.1.1.1", "169.254.169.254"
GATEWAY = "9.8.8.1"
MARKS = 9  # the port of datagrams that say how far the record of the wire is
SLOW = 20  # KiB a second
RUNNING = {}
HELLO = "hello from the world\n"
RESOLV_CONF = f"nameserver {NAMES}\n"

LINKS = f"""\
link add near type veth peer name far netns world
link set near up
addr add 9.8.8.2/24 dev near
addr add 2001:db8::2/64 dev near nodad
route add default via {GATEWAY}
route add default via 2001:db8::1
"""
LINKS_THERE = f"""\
link set lo up
link set far up
addr add {GATEWAY}/24 dev far
addr add 2001:db8::1/64 dev far nodad
addr add {NAMES}/32 dev lo
addr add {NAMES6}/128 dev lo nodad
addr add {PAGES}/32 dev lo
addr add {OTHER}/32 dev lo
addr add {PRIVATE}/32 dev lo
addr add {METADATA}/32 dev lo
"""

NSD = f"""\
server:
  ip-address: {NAMES}
  ip-address: {NAMES6}
  ip-address: {OTHER}
  username: root
  server-count: 1
  zonesdir: "{TOP}"
  database: ""
  pidfile: "{TOP}/nsd.pid"
  zonelistfile: "{TOP}/zone.list"
  xfrdfile: "{TOP}/xfrd.state"
  xfrdir: "{TOP}"
  cookie-secret-file: ""
remote-control:
  control-enable: no
"""
NSD_ZONE = """\
zone:
  name: {name}
  zonefile: {name}
"""
ZONE = """\
$ORIGIN {zone}.
$TTL {ttl}
@ SOA ns hostmaster {serial} 3600 600 86400 60
@ NS ns
ns A {names}
{records}
"""

NGINX = f"""\
daemon off;
user root;
pid {TOP}/nginx.pid;
error_log {TOP}/nginx.log;
worker_processes 1;
events {{ }}
http {{
	access_log {TOP}/access.log;
	client_body_temp_path {TOP}/body;
	proxy_temp_path {TOP}/proxy;
	fastcgi_temp_path {TOP}/fastcgi;
	scgi_temp_path {TOP}/scgi;
	uwsgi_temp_path {TOP}/uwsgi;
	server {{
		listen 80;
		listen [::]:80;
		listen 443 ssl;
		listen 8443 ssl;
		ssl_protocols TLSv1.2 TLSv1.3;
		ssl_certificate {TOP}/server.crt;
		ssl_certificate_key {TOP}/server.key;
		root {TOP}/www;
		client_max_body_size 0;
		location /slow {{ limit_rate {SLOW}k; }}
		location /upload {{ proxy_request_buffering off; proxy_http_version 1.1; proxy_pass http://127.0.0.1:9000; }}
		location /v1/ {{ proxy_pass http://127.0.0.1:9000; }}
		location /repos/ {{ default_type application/json; }}
		location = /repos/o/r/issues/2 {{ return 302 https://unlisted.example.com/hello; }}
	}}
}}
"""
ANSWER = "an answer of the world's model"
# Says how much it was sent; a model whose answer is always the same (the Responses API).
SINK = f"""\
import http.server, json
MESSAGE = {{"type": "message", "role": "assistant", "id": "m", "content": [{{"type": "output_text", "text": "{ANSWER}"}}]}}
USAGE = {{"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None, "total_tokens": 2}}
EVENTS = [("created", {{"response": {{"id": "r"}}}}), ("output_item.done", {{"output_index": 0, "item": MESSAGE}}),
          ("completed", {{"response": {{"id": "r", "usage": USAGE}}}})]
class Sink(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        text = "".join("event: response.%s\\ndata: %s\\n\\n" % (k, json.dumps({{"type": "response." + k, **v}}))
                       for k, v in EVENTS).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def do_PUT(self):
        left = length = int(self.headers["Content-Length"])
        while left:
            got = self.rfile.read1(min(left, 65536))
            if not got:
                return
            left -= len(got)
        text = b"%d" % length
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
http.server.ThreadingHTTPServer(("127.0.0.1", 9000), Sink).serve_forever()
"""


def there(*argv):
    return ("ip", "netns", "exec", "world", *argv)


def ip(lines, *options):
    write(f"{TOP}/links", lines)
    must("ip", *options, "-batch", f"{TOP}/links")


def start(name, *argv):
    with open(f"{TOP}/{name}.out", "wb") as out:
        RUNNING[name] = subprocess.Popen(there(*argv), stdin=subprocess.DEVNULL, stdout=out, stderr=out)


def record(label, value):
    kind = "CNAME" if value.endswith(".") else "AAAA" if ":" in value else "A"
    return f"{label} {kind} {value}"


def zone(name, records, ttl=60):
    """{label: [address, or name and a dot]}"""
    lines = [record(label, value) for label, values in records.items() for value in values]
    write(f"{TOP}/{name}", ZONE.format(zone=name, ttl=ttl, names=NAMES, serial=int(time.time() * 1000) % (1 << 32),
                                       records="\n".join(lines)))


def rename(name, records, label, addresses, ttl=60):
    """From now on it stands for these."""
    records[label] = addresses
    zone(name, records, ttl)
    os.kill(int(read(f"{TOP}/nsd.pid")), signal.SIGHUP)
    wait_for(f"{label} is {addresses}", lambda: set(resolved(f"{label}.{name}")) == set(addresses))


def resolved(name):
    """Its addresses, as who is free to ask hears them."""
    try:
        return [found[4][0] for found in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]
    except socket.gaierror:
        return []


def certify(names):
    """A server's certificate for these names, by an authority of this world."""
    write(f"{TOP}/names", "subjectAltName=" + ",".join("DNS:" + n for n in names))
    new = ("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-batch")
    must(*new, "-x509", "-days", "3650", "-subj", "/CN=world", "-keyout", f"{TOP}/ca.key", "-out", CA)
    must(*new, "-subj", "/CN=server", "-keyout", f"{TOP}/server.key", "-out", f"{TOP}/server.csr")
    must("openssl", "x509", "-req", "-days", "3650", "-in", f"{TOP}/server.csr", "-CA", CA, "-CAkey", f"{TOP}/ca.key",
         "-CAcreateserial", "-extfile", f"{TOP}/names", "-out", f"{TOP}/server.crt")


def make_pages():
    write(f"{TOP}/www/hello", HELLO)
    write(f"{TOP}/www/repos/o/r/issues/1", '{"title": "hello from the world"}\n')
    with open(f"{TOP}/www/slow", "wb") as f:
        f.truncate(64 << 20)
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-C", f"{TOP}/tree")
    must("git", "init", "-q", "-b", "main", f"{TOP}/tree")
    write(f"{TOP}/tree/f", HELLO)
    must(*git, "add", "f")
    must(*git, "commit", "-q", "-m", "from the world")
    must("git", "clone", "-q", "--bare", f"{TOP}/tree", f"{TOP}/www/repo.git")
    must("git", "-C", f"{TOP}/www/repo.git", "update-server-info")


SSHD = f"""\
ListenAddress {PAGES}
HostKey {TOP}/host_key
PidFile {TOP}/sshd.pid
AuthorizedKeysFile {TOP}/user_key.pub
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
# The one that it prefers takes seconds under emulation.
KexAlgorithms curve25519-sha256
"""


def serve_ssh(user, *names):
    """The repository by ssh, once a boot: to who has user_key; all of this host know the server by these names."""
    if "sshd" in RUNNING:
        return
    for key in ("host_key", "user_key"):
        must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{TOP}/{key}")
    must("useradd", "-p", "*", "-d", f"{TOP}/www", "-s", "/bin/sh", user)
    must("chown", "-R", f"{user}:", f"{TOP}/www/repo.git")
    write(f"{TOP}/sshd_config", SSHD)
    write("/etc/ssh/ssh_known_hosts", f"{','.join(names)} {read(f'{TOP}/host_key.pub')}")
    os.makedirs("/run/sshd", exist_ok=True)
    start("sshd", "/usr/sbin/sshd", "-D", "-e", "-f", f"{TOP}/sshd_config")
    wait_for("sshd listens", lambda: "listening on" in read(f"{TOP}/sshd.out"))


def make(zones, certified):
    """Once a boot: {zone: records}, and the names that its servers may call themselves."""
    for directory in (f"{TOP}/www", os.path.dirname(CA)):
        os.makedirs(directory, exist_ok=True)
    must("ip", "netns", "add", "world")
    ip(LINKS)
    ip(LINKS_THERE, "-n", "world")
    certify(certified)
    for name, records in zones.items():
        zone(name, records)
    write(f"{TOP}/nsd.conf", NSD + "".join(NSD_ZONE.format(name=name) for name in zones))
    write(f"{TOP}/nginx.conf", NGINX)
    write(f"{TOP}/sink.py", SINK)
    make_pages()
    start("tcpdump", "tcpdump", "-i", "far", "-U", "-n", "--immediate-mode", "-Z", "root", "-w", PCAP)
    start("nsd", "nsd", "-d", "-c", f"{TOP}/nsd.conf")
    start("nginx", "nginx", "-c", f"{TOP}/nginx.conf")
    start("sink", "python3", f"{TOP}/sink.py")
    write("/etc/resolv.conf", RESOLV_CONF)
    wait_for("tcpdump listens", lambda: "listening on" in read(f"{TOP}/tcpdump.out"))
    for name, records in zones.items():
        label = next(iter(records))
        wait_for(f"{label}.{name} is known", lambda: resolved(f"{label}.{name}"))
    wait_for("pages are served", lambda: run("curl", "-sS", f"http://{PAGES}/hello").out == HELLO)


# --- the uplink ---


def written(since):
    with open(PCAP, "rb") as f:
        f.seek(since)
        return f.read()


def wire():
    """Where what passes from now on begins in the record of it: what was sent before is written down."""
    since = os.path.getsize(PCAP)
    mark = os.urandom(16)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(mark, (GATEWAY, MARKS))
    wait_for("the mark on the wire", lambda: mark in written(since))
    return os.path.getsize(PCAP)


def packets(since, words="tcp or udp"):
    """What passed, one a line, and matches."""
    wire()
    with open(f"{TOP}/part.pcap", "wb") as f:
        f.write(written(0)[:24] + written(max(since, 24)))
    return must("tcpdump", "-n", "-r", f"{TOP}/part.pcap", f"({words}) and not port {MARKS}").out.splitlines()


def has_name(since, *labels):
    """Did a name that begins with these labels pass, as DNS or in a ClientHello?"""
    wire()
    found = written(since).lower()
    return (b"".join(bytes([len(label)]) + label.encode() for label in labels) in found
            or ".".join(labels).encode() in found)
