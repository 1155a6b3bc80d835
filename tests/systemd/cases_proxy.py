# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is listed asked for by the proxy: clients that are told of one, and nothing else, reach the same names under the
same terms. The client that is free has no such proxy, and goes by itself."""
import os
import signal
import time

import cases_tools
import world
from cases_egress import (API, CLIENT, CUT, GIT, address_of, ask, connects, curl, do, downloading, is_cut, must_do,
                          refusals, relay, stage, told)
from harness import (POLICIES, case, compartment, compartments, expect, expect_equal, expect_text, mark, must, run,
                     wait_for, write)

PROXIED = CLIENT + "  proxy: true\n"
NAME, ADDRESS = "proxy.bulkhead.internal", "198.19.255.254"
CONNECT, SOCKS = f"http://{NAME}:3128", f"socks5h://{NAME}:1080"
BY_CONNECT, BY_SOCKS = f"-x {CONNECT} --proxytunnel", f"-x {SOCKS}"
# What a request of curl's is answered: --write-out.
ANSWER = "-o /dev/null -w '%{http_connect}' "
REFUSED = 56  # curl's, of a proxy that says no
NO_PROXY = 97  # and of one that speaks SOCKS


def stage_proxy(granted=True):
    stage()
    if not compartments(name="proxied"):
        cases_tools.POLICY_TEXTS["proxied"] = PROXIED.replace("name: client", "name: proxied")
        cases_tools.begin("proxied")
    if granted:
        must("bulkhead", "grant", "proxied", "egress")
    elif compartment(name="proxied")["egress"]["grant"]:
        must("bulkhead", "revoke", "proxied", "egress")


def by_proxy(text, says, direct):
    """Works outside as it does anyway, and inside by the proxy; nothing is refused meanwhile."""
    must_do(direct, "free", says)
    since = mark()
    must_do(text, "proxied", says)
    expect_equal("refused meanwhile", [[r["hook"], r["object"]] for r in refusals(since, "proxied")], [])
    return since


def no(text, status_, says="", where="proxied"):
    done = do(text, where)
    expect_equal(f"{text}: {done.text}", done.status, status_)
    expect_text(text, done.out + done.err, says)


@case("egress", seconds=400)
def proxy_curl():
    """curl by CONNECT and by SOCKS, names of entries and of a wildcard; the proxy has no other name of its own."""
    stage_proxy()
    for options in (BY_CONNECT, BY_SOCKS):
        since = by_proxy(curl(f"https://{API}/hello", options), "^hello", curl(f"https://{API}/hello"))
        flow = told(since, name="proxied", what="flow", destination=API)
        expect_equal("its record", [flow[k] for k in ("outcome", "address", "port")], ["ended", world.PAGES, 443])
        expect(flow["up"] and flow["down"], str(flow))
        by_proxy(curl(f"http://{GIT}/hello", options), "^hello", curl(f"http://{GIT}/hello"))
        by_proxy(curl("https://a.cdn.example.org/hello", options), "^hello", curl("https://a.cdn.example.org/hello"))
    expect_equal("its address", ask(world.NAMES, NAME, "A", "proxied")[1:], [0, [ADDRESS]])
    expect_equal("AAAA", ask(world.NAMES, NAME, "AAAA", "proxied")[1:], [0, []])
    expect_equal("PTR", ask(world.NAMES, "254.255.19.198.in-addr.arpa", "PTR", "proxied")[1:], [0, [NAME]])
    by_proxy(curl(f"https://{API}/hello", f"-x http://{ADDRESS}:3128"), "^hello", curl(f"https://{API}/hello"))
    expect_text("status", must("bulkhead", "status").out, r"proxied \(\d+\) egress: .*, by the proxy, too: granted")
    # Past the proxy it goes as ever.
    must_do(curl(f"https://{API}/hello"), "proxied", "^hello")


@case("egress-more", seconds=400)
def proxy_others():
    """git and urllib, as they are told of proxies."""
    stage_proxy()
    clone = (f"rm -rf copy && git {{}} clone -q https://{GIT}/repo.git copy && git -C copy log --format=%s && "
             "cat copy/f")
    for url in (CONNECT, SOCKS):
        by_proxy(clone.format(f"-c http.proxy={url}"), "^from the world\nhello", clone.format(""))
    fetch = f"python3 -c 'from urllib.request import urlopen; print(urlopen(\"https://{API}/hello\").read())'"
    since = by_proxy(f"HTTPS_PROXY={CONNECT} {fetch}", "hello", fetch)
    told(since, name="proxied", what="flow", destination=API)


@case("egress", seconds=400)
def proxy_refuses():
    """What is not listed, no name, another port or a bad address: told to the client, with the same event as else, and
    nothing passes; the name of what is refused is asked of nobody."""
    stage_proxy()
    must_do(curl(f"https://{GIT}/hello", f"--connect-to {GIT}:443:unlisted.example.com:443"), "free", "^hello")
    must_do(curl(f"https://{API}:8443/hello"), "free", "^hello")
    must_do(curl(f"http://{world.PRIVATE}/hello"), "free", "^hello")
    wire = world.wire()
    ways = ((f"{ANSWER} {BY_CONNECT}", REFUSED, "^403"), (BY_SOCKS, NO_PROXY, r"\(2\)|\(8\)"))
    for host, port, outcome in (("unlisted.example.com", 443, "unlisted"), (world.PAGES, 443, "unlisted"),
                                ("secret.tunnel.example.com", 443, "unlisted"), (API, 8443, "port not listed"),
                                ("b.a.cdn.example.org", 443, "unlisted"), (NAME, 3128, "unlisted")):
        for options, status_, says in ways:
            since = mark()
            no(curl(f"https://{host}:{port}/hello", options), status_, says)
            r = told(since, name="proxied", what="connect", destination=host, port=port)
            expect_equal(f"its event {r['message']}", r["outcome"], outcome)
    # Names that the client resolved itself are addresses by then.
    for scheme in ("socks5", "socks4"):
        no(curl(f"https://{API}/hello", f"-x {scheme}://{NAME}:1080"), NO_PROXY)
    expect_equal("packets", world.packets(wire), [])
    since = mark()
    no(curl("http://private.bad.example.org/hello", ANSWER, BY_CONNECT), REFUSED, "^403")
    expect_equal("its event", told(since, name="proxied", what="connect",
                                   destination="private.bad.example.org")["outcome"], "bad address")
    expect_equal("packets", world.packets(wire, "tcp"), [])
    expect(not world.has_name(wire, "unlisted"), "a name that is not listed passed")
    # http:// without a tunnel, another port, UDP: none of it is there.
    no(curl(f"http://{GIT}/hello", f"-x {CONNECT} -w '%{{http_code}}'"), 0, r"CONNECT alone is answered.*\n405")
    done = do(curl(f"https://{API}/hello", f"-x http://{NAME}:8080"), "proxied")
    expect(done.status in CUT, done.text)
    must_do(connects(ADDRESS, 3128), "proxied", "^0\n")
    since = mark()
    quic = ("python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
            f"print(s.sendto(b\"x\", (\"{ADDRESS}\", 3128)))' 2>&1 | tail -n 1")
    must_do(quic, "proxied", "PermissionError")
    wait_for("its event", lambda: refusals(since, "proxied", hook="sendmsg4"))


@case("egress-more", seconds=400)
def proxy_terms():
    """TLS for the name that was asked for, and as much as may be sent: by either way together."""
    stage_proxy()
    plain = curl(f"http://{API}:443/hello", BY_CONNECT)
    other = curl(f"https://{GIT}/hello", f"--connect-to {GIT}:443:{API}:443", BY_CONNECT)
    for text, outcome in ((plain, "no TLS"), (other, "another server name")):
        since = mark()
        done = do(text, "proxied")
        expect(done.status in CUT, done.text)
        r = told(since, name="proxied", what="connect", destination=API)
        expect_equal("its event", r["outcome"], outcome)
    put = "head -c {0} /dev/zero | " + curl("http://upload.example.com/upload", "-T - -H Transfer-Encoding: -H Expect:",
                                           "-H 'Content-Length: {0}'")
    must_do(put.format(300000), "free", "^300000")
    must_do(f"{put.format(1000)} {BY_SOCKS}", "proxied", "^1000")
    since = mark()
    done = do(f"{put.format(300000)} {BY_CONNECT}", "proxied")
    expect(done.status in CUT, done.text)
    r = told(since, name="proxied", what="flow", destination="upload.example.com", outcome="over its upload allowance")
    expect(r["up"] <= 65536, str(r))
    no(f"{put.format(1000)} {ANSWER} {BY_CONNECT}", REFUSED, "403")
    done = do(put.format(1000), "proxied")
    expect(done.status in CUT, done.text)


@case("egress", seconds=400)
def proxy_revoked():
    """Before a grant and after it the proxy leads nowhere; what runs by it is cut."""
    stage_proxy(granted=False)
    page, wire, since = curl(f"http://{GIT}/hello", BY_CONNECT), world.wire(), mark()
    no(page, 5, "Could not resolve proxy")
    expect_equal("its event", told(since, name="proxied", what="query", destination=NAME)["outcome"], "ungranted")
    no(curl(f"http://{GIT}/hello", f"{ANSWER} --proxytunnel -x http://{ADDRESS}:3128"), REFUSED, "^403")
    expect_equal("its event", told(since, name="proxied", what="connect", destination=GIT)["outcome"], "ungranted")
    expect_equal("packets", world.packets(wire), [])
    must("bulkhead", "grant", "proxied", "egress", "--only", API)
    no(curl(f"http://{GIT}/hello", ANSWER, BY_CONNECT), REFUSED, "^403")
    must("bulkhead", "grant", "proxied", "egress")
    for options in (BY_CONNECT, BY_SOCKS):
        with downloading(options=options, where="proxied") as ended:
            since, began = mark(), time.monotonic()
            must("bulkhead", "revoke", "proxied", "egress")
            is_cut(ended, began, 10)
        r = told(since, name="proxied", what="flow", destination=GIT)
        expect_equal(f"its record {r}", [r["outcome"], r["down"] > 0], ["cut", True])
        must("bulkhead", "grant", "proxied", "egress")
    must_do(page, "proxied", "^hello")


@case("egress-more", seconds=400)
def proxy_unwanted():
    """Under a policy that does not say so nobody answers, though the address is known; a reload ends it, and what runs
    by it. A relay that comes anew has it still."""
    stage_proxy()
    since, wire = mark(), world.wire()
    no(curl(f"https://{API}/hello", BY_CONNECT), 5, "Could not resolve proxy", "client")
    expect_equal("its event", told(since, what="query", destination=NAME)["outcome"], "unlisted")
    done = do(curl(f"https://{API}/hello", f"-x http://{ADDRESS}:3128"))
    expect(done.status in CUT, done.text)
    expect_equal("its event", told(since, what="connect", port=3128)["outcome"], "unnamed address")
    expect_equal("packets", world.packets(wire), [])
    os.kill(relay()["pid"], signal.SIGKILL)
    page = curl(f"http://{GIT}/hello", BY_SOCKS)
    wait_for("it works again", lambda: do(page, "proxied").status == 0, 90)
    path = f"{POLICIES}/proxied.yaml"
    try:
        with downloading(options=BY_CONNECT, where="proxied") as ended:
            since = mark()
            write(path, PROXIED.replace("name: client", "name: proxied").replace("proxy: true", "proxy: false"))
            must("bulkhead", "reload", "proxied")
            is_cut(ended, time.monotonic(), 10)
        expect_equal("its record", told(since, name="proxied", what="flow", destination=GIT)["outcome"], "cut")
        no(page, 6, "Could not resolve")
        must_do(curl(f"http://{GIT}/hello"), "proxied", "^hello")
    finally:
        write(path, PROXIED.replace("name: client", "name: proxied"))
        must("bulkhead", "reload", "proxied")
    must_do(page, "proxied", "^hello")
    expect_equal("the name's address is not the proxy's", address_of(GIT, "proxied") == ADDRESS, False)
    run("systemctl", "stop", "tools-proxied.service")
