# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What attach and detach leave behind: nothing."""
import ctypes
import os
import stat

from harness import (AGENT, CGROUPS, SECRET, agent_is_back, attach, case, cgroup_of, expect, expect_equal,
                     main_pid, must, provider, read, status, wait_for, write, write_policy)

CYCLES = 100
# What the agent may grow by in the second half of the cycles, each: a page. A compartment that is kept is more
# than that (its rules alone are tens of pages); an allocator that settles is less, and so is a leak of some bytes
# a cycle, which this does not see: the unit tests under ASan do.
PAGES_A_CYCLE = 1
# The agent's own, as bulkhead(8) lists it under FILES; and the journal, where what it says goes.
OWN = ("/run/bulkhead", "/var/lib/bulkhead", "/sys/fs/bpf/bulkhead-1", "/var/log/journal", "/run/log/journal")
CONTROL = "/var/tmp/residue"
PLACES = ("/", "/run", "/dev", "/dev/shm", "/sys/fs/bpf", CGROUPS)
BPF_NEXT = {"programs": 11, "maps": 12, "links": 31}  # BPF_PROG_GET_NEXT_ID and so on
SYS_BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
LIBC = ctypes.CDLL(None, use_errno=True)


def bpf_objects():
    """How many there are in the kernel, whoever made them."""
    found = {}
    for what, command in BPF_NEXT.items():
        attr, found[what] = (ctypes.c_uint32 * 4)(), 0
        while LIBC.syscall(SYS_BPF, command, attr, ctypes.sizeof(attr)) == 0:
            attr[0], found[what] = attr[1], found[what] + 1
    return found


def seen_of(path, place):
    """The files of cgroups and of /dev are the kernel's, and change by themselves: that they are there. Of
    others the time of the last change to anything, which nobody sets, stands for what they contain; that of a
    directory tells of files that came and went."""
    st = os.lstat(path)
    kind = stat.S_IFMT(st.st_mode), st.st_ino
    return kind if place in ("/dev", CGROUPS) else (*kind, st.st_mode, st.st_size, st.st_mtime_ns, st.st_ctime_ns)


def files():
    """{path: what is seen of it} of all places, other mounts in them left out."""
    found = {}
    for place in PLACES:
        device = os.stat(place).st_dev
        for top, directories, names in os.walk(place):
            paths = {name: os.path.join(top, name) for name in directories}
            directories[:] = [name for name, path in paths.items()
                              if path not in OWN and os.lstat(path).st_dev == device]
            for name in (*directories, *names):
                path = os.path.join(top, name)
                found[path] = seen_of(path, place)
    return found


def changed(before, after):
    return sorted(path for path in {**before, **after} if before.get(path) != after.get(path))


def agent_files():
    pid = main_pid(AGENT)
    return sorted(os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd"))


def agent_pages():
    """Of memory that is no file's."""
    line = next(line for line in read(f"/proc/{main_pid(AGENT)}/status").splitlines() if line.startswith("RssAnon"))
    return int(line.split()[1]) * 1024 // os.sysconf("SC_PAGE_SIZE")


def cycles(n, p, policy, cgroup):
    for _ in range(n):
        attach(policy, "--cgroup", cgroup)
        expect_equal("a read inside", p.read(SECRET), "EACCES")
        must("bulkhead", "detach", "--cgroup", cgroup)
        expect_equal("the same read after the detach", p.read(SECRET), "")


def states(others):
    """Of the case's own compartments. One that is released is listed as long as a process bears its label."""
    return [c["state"] for c in status()["compartments"] if c["id"] not in others]


@case("residue", seconds=1500)
def attach_and_detach():
    """A hundred times, of a unit's cgroup: no file outside the agent's own state came, went or changed, the
    agent has the descriptors that it had and does not grow, and once the unit ended there are as many programs,
    maps and links as before."""
    agent_is_back()
    policy = write_policy("residue")
    with provider("residue") as p:
        cgroup = cgroup_of(p.unit)
        others = {c["id"] for c in status()["compartments"]}
        before, objects, held = files(), bpf_objects(), agent_files()
        expect(objects["links"] > 20 and objects["maps"] > 5, f"the agent's objects are not seen: {objects}")
        attach(policy, "--cgroup", cgroup)
        expect(bpf_objects()["maps"] > objects["maps"], "the table of the policy in force is not seen")
        must("bulkhead", "detach", "--cgroup", cgroup)
        cycles(CYCLES // 2, p, policy, cgroup)
        half = agent_pages()
        cycles(CYCLES // 2, p, policy, cgroup)
        pages = agent_pages()
        print(f"# {objects}, {len(held)} descriptors, {len(before)} files, {half} pages at half time, then {pages}")
        wait_for("the end of all but the last", lambda: states(others) in ([], ["released"]))
        expect_equal("descriptors of the agent", agent_files(), held)
        expect_equal("files that changed", changed(before, files()), [])
        write(CONTROL, "")
        expect_equal("files that changed then", changed(before, files()), [os.path.dirname(CONTROL), CONTROL])
        os.unlink(CONTROL)
        expect(pages - half <= PAGES_A_CYCLE * CYCLES // 2, f"{half} pages at half time, then {pages}")
        must("systemctl", "stop", p.unit)
        wait_for("the end of the last", lambda: not states(others))
        wait_for(f"as many objects as before: {objects}, not {bpf_objects()}", lambda: bpf_objects() == objects)
