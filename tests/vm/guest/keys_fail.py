#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Every allocation on the paths of a registration fails once. TAP on stdout.

    keys_fail.py DEV IP /dev/p2pmemN       on the debug kernel

Whatever fails, it is told as a lack of memory, nothing is left behind, what was
there before works as it did, and the next try succeeds.
"""

import collections
import ctypes
import errno
import gc
import os
import random
import socket
import struct
import sys
import time
import traceback

from pyverbs.pyverbs_error import PyverbsRDMAError

from integrity import Failed, expect, good, same
from rdmanode import ALL, BIND, PAGE, READ, WRITE, Node, libc

FAIL = "/proc/thread-self/fail-nth"
DEBUGFS = "/sys/kernel/debug/"
HUGE = 2 << 20
MADV_NOHUGEPAGE = 15
SLABS = "/sys/kernel/slab/"
ROUNDS = ("objects", "objects", "pages")
MOST = 400
LINK = 80	# allocations of a link's creation: what is ours, and some of the RDMA core's
NETLINK_RDMA = 20


def read(path):
    """A file of the kernel's."""
    with open(path, encoding="ascii") as file:
        return file.read()


def write(path, text):
    """Into a file of the kernel's; Python's own files might write twice."""
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def values(path, *names):
    """Of a file with a name and a number in each line."""
    rows = (line.split() for line in read(path).splitlines())
    found = {row[0].rstrip(":"): int(row[1]) for row in rows if row[0].rstrip(":") in names}
    return [found[name] for name in names]


class Links:
    """Makes links, as "rdma link add" does, but in this thread."""

    DEV_NAME, NDEV_NAME, LINK_TYPE = 2, 51, 65	# RDMA_NLDEV_ATTR_*

    def __init__(self, name, netdev):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA)
        body = b""
        for kind, text in ((self.DEV_NAME, name), (self.LINK_TYPE, "srnic"),
                           (self.NDEV_NAME, netdev)):
            value = text.encode() + b"\0"
            body += struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)
        # RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK; a request that wants an answer
        self.message = struct.pack("=IHHII", 16 + len(body), 5 << 10 | 3, 5, 1, 0) + body

    def add(self):
        """Make the link."""
        try:
            self.socket.send(self.message)
            code = -struct.unpack_from("=i", self.socket.recv(4096), 16)[0]
        except OSError as error:
            code = error.errno
        if code:
            raise PyverbsRDMAError("link", code)


class FailNth:
    """The switch of this thread by which its n-th allocation fails.

    Either of objects or of pages, one kind at a time: when an object needs a new
    page is chance, and would move the others. Objects of kmemleak's own don't count.
    """

    def __init__(self):
        caches = set(os.listdir(SLABS)) - {"kmemleak_object"}
        for cache in caches:
            write(f"{SLABS}{cache}/failslab", "1")
        write(f"{DEBUGFS}failslab/cache-filter", "Y")
        for kind in ("failslab", "fail_page_alloc"):
            write(f"{DEBUGFS}{kind}/verbose", "0")
        write(f"{DEBUGFS}fail_page_alloc/ignore-gfp-highmem", "N")
        write(f"{DEBUGFS}fail_page_alloc/min-order", "0")
        self.fd = os.open(FAIL, os.O_RDWR)

    @staticmethod
    def choose(kind):
        """What shall fail, "objects" or "pages"."""
        for name, wanted in (("failslab", "objects"), ("fail_page_alloc", "pages")):
            write(f"{DEBUGFS}{name}/ignore-gfp-wait", "N" if kind == wanted else "Y")

    def call(self, nth, call):
        """The error of a call, or 0; and whether an allocation did fail."""
        code, text = 0, str(nth).encode()
        os.pwrite(self.fd, text, 0)
        try:
            call()
        except PyverbsRDMAError as error:
            code = error.error_code
        left = os.pread(self.fd, 16, 0)
        os.pwrite(self.fd, b"0", 0)
        return code, int(left.split(b"\0")[0]) == 0


class Keys:
    """The tests, and the memories that they are about."""

    def __init__(self, dev, ip, donor):
        self.node, self.donor = Node(dev, ip), donor
        self.fail = FailNth()
        self.mpt = f"{DEBUGFS}srnic/{dev}/mpt"
        self.bound = None
        node = self.node
        node.pd("other")
        self.before = self.state(), self.objects()
        for pd in ("pd", "other"):
            self.connect(pd)
        node.mem("desk", PAGE, None)
        _, self.lkey, _ = node.reg("desk", "desk")

    def connect(self, pd):
        """Two QPs of this host, the second one in a PD: "to PD", "PD"."""
        node, mtu = self.node, self.node.info()["mtu"]
        one, two = node.qp(f"to {pd}"), node.qp(pd, pd)
        node.connect(f"to {pd}", one, two, mtu)
        node.connect(pd, two, one, mtu)

    # what there is

    def keys(self):
        """The lines of all keys, without what changes by itself."""
        return sorted(line.split(" age ")[0] for line in read(self.mpt).splitlines())

    def line(self, mr):
        """The line of a region."""
        return next(line for line in self.keys()
                    if int(line.split()[0], 16) == self.node.mrs[mr].rkey)

    def state(self):
        """All that a registration takes, as {name: value}."""
        read("/proc/sys/vm/stat_refresh")	# each CPU's part into the sum
        pinned, back = values("/proc/vmstat", "nr_foll_pin_acquired", "nr_foll_pin_released")
        account = values("/proc/self/status", "VmPin", "VmLck")
        return {"keys": self.keys(), "pages": pinned - back, "account": account,
                "donor": self.node.available(self.donor)}

    def objects(self):
        """What the RDMA core counts."""
        return self.node.shell(f"rdma resource show {self.node.dev}")[1]

    @staticmethod
    def compare(what, now, before, new_keys=False):
        """Two results of state()."""
        for name, value in before.items():
            if name == "keys" and new_keys:
                expect(len(now[name]) == len(value), f"{what}: keys {now[name]}, before {value}")
            else:
                expect(now[name] == value, f"{what}: {name} {now[name]}, before {value}")

    # its use by a peer

    def request(self, pd, op, length, addr, key):
        """A request that must succeed."""
        self.node.post(f"to {pd}", op, [(self.node.mem_addr("desk"), length, self.lkey)],
                       addr=addr, rkey=key)
        good(self.node.sent(f"to {pd}"), 1, op)

    def use(self, mem, mr="mr", pd="pd", *, writes=True, key=None, base=None):
        """The first and the last bytes of a memory, through a key."""
        node, size = self.node, self.node.mems[mem].size
        key = node.mrs[mr].rkey if key is None else key
        base = node.mem_addr(mem) if base is None else base
        for at in {0, size - PAGE}:
            addr = base + at
            if writes:
                data = random.randbytes(PAGE)
                node.fill("desk", data)
                self.request(pd, "WRITE", PAGE, addr, key)
                same("WRITE", node.look(mem, PAGE, at), data)
            node.fill("desk", bytes(PAGE))
            self.request(pd, "READ", PAGE, addr, key)
            same("READ", node.look("desk"), node.look(mem, PAGE, at))

    # one path

    def sweep(self, call, undo, *, done, still=None, always=False, least=4):
        """Call with the 1st, 2nd, ... allocation failing until none is left to fail.

        undo: what makes the next call possible after one that succeeded; done, still:
        that it has worked, that it hasn't, looked at now and then, or always; least:
        failures that it must have told.
        """
        call()		# the program's own memory is there from now on
        done()
        undo()
        told, rounds = collections.Counter(), []
        for kind in ROUNDS:
            self.fail.choose(kind)
            codes = self.round(call, undo, done, still, always)
            rounds.append(f"{codes.total()} {kind}")
            told += codes
        names = (f"{errno.errorcode.get(code, code) if code else 'done all the same'} {count}"
                 for code, count in sorted(told.items(), reverse=True))
        print(f"# {told.total()} failures injected ({', '.join(rounds)}):",
              ", ".join(names) or "none", flush=True)
        expect(set(told) <= {0, errno.ENOMEM}, "an error that means something else")
        expect(told[errno.ENOMEM] >= least, f"fewer than {least} were told")

    def round(self, call, undo, done, still, always):
        """One of sweep()'s: how many failures there were, by error."""
        before = self.state()
        codes = collections.Counter()
        for nth in range(1, MOST):
            code, injected = self.fail.call(nth, call)
            now = self.state()
            if not injected:
                break
            codes[code] += 1
            if code:
                self.compare(f"allocation {nth} fails", now, before)
                if still and (codes[code] % 4 == 1 or always):
                    still()
            else:
                if codes[0] % 4 == 1 or always:
                    done()
                undo()
                now = self.state()
                self.compare(f"allocation {nth} fails, done all the same", now, before, True)
                before = now
        else:
            raise Failed(f"no end of allocations after {nth}")
        expect(not code, f"error {code} without a failure")
        done()
        undo()
        self.compare("in the end", self.state(), before, True)
        return codes

    def test_reg(self, mem):
        """registration of {mem}"""
        node = self.node
        self.sweep(lambda: node.reg("mr", mem), lambda: node.dereg("mr"),
                   done=lambda: self.use(mem))

    def test_reg_nothing(self):
        """registration of no bytes"""
        node = self.node

        def done():
            line = self.line("mr")
            expect(" length 0 " in line and " state valid " in line, line)

        self.sweep(lambda: node.reg("mr", "a page", length=0), lambda: node.dereg("mr"), done=done)

    def test_dmabuf(self, kind):
        """registration of a dma-buf: {kind}"""
        node = self.node
        node.dmabuf("buffer", kind, 4 * PAGE)
        # so that the exporter's vmap has been done: where it fails the kernel warns
        node.reg_dmabuf("first", "buffer")
        self.sweep(lambda: node.reg_dmabuf("mr", "buffer"), lambda: node.dereg("mr"),
                   done=lambda: self.use("buffer", base=0))
        node.dereg("first")
        node.unmap("buffer")

    def test_link(self, netdev):
        """creation of a device, by {netdev}: its key table, its caches, its port"""
        node, told = self.node, collections.Counter()
        links = Links("srnic9", netdev)
        there = "/sys/class/infiniband/srnic9"
        expect(not node.shell(f"ip link add {netdev} type dummy")[0], "no netdev")
        self.fail.choose("objects")
        before = self.state(), self.objects()
        for nth in range(1, LINK):
            code, injected = self.fail.call(nth, links.add)
            expect(injected, f"only {nth} allocations")
            told[code] += 1
            expect(os.path.exists(there) == (not code), f"allocation {nth} fails: error {code}")
            if not code:
                expect(not node.shell("rdma link del srnic9")[0], "rdma link del")
        self.compare("in the end", self.state(), before[0])
        expect(self.objects() == before[1], f"objects {self.objects()}, before {before[1]}")
        print("# errors:", dict(told), flush=True)
        expect(told[errno.ENOMEM] >= 10, "fewer than 10 were told")
        links.add()
        expect(os.path.exists(there), "no device")
        expect(not node.shell(f"rdma link del srnic9 && ip link del {netdev}")[0], "del")

    def test_dereg(self, mem):
        """end of a registration of {mem}"""
        node = self.node
        node.reg("mr", mem)
        self.sweep(lambda: node.dereg("mr"), lambda: node.reg("mr", mem),
                   done=lambda: None, still=lambda: self.use(mem), least=0)
        node.dereg("mr")

    def test_move(self, mem, to):
        """registration anew of {mem} as {to}"""
        node = self.node
        node.reg("mr", mem)
        self.sweep(lambda: node.rereg("mr", mem=to), lambda: node.rereg("mr", mem=mem),
                   done=lambda: self.use(to), still=lambda: self.use(mem))
        node.dereg("mr")

    def test_rights(self, mem):
        """registration anew of {mem}, from then on to be written"""
        node = self.node

        def undo():
            node.dereg("mr")
            node.reg("mr", mem, READ)

        node.reg("mr", mem, READ)
        self.sweep(lambda: node.rereg("mr", access=ALL), undo, done=lambda: self.use(mem),
                   still=lambda: self.use(mem, writes=False))
        node.dereg("mr")

    def test_pd(self, mem):
        """registration anew of {mem} in another protection domain"""
        node = self.node
        node.reg("mr", mem)
        self.sweep(lambda: node.rereg("mr", pd="other"), lambda: node.rereg("mr", pd="pd"),
                   done=lambda: self.use(mem, pd="other"), still=lambda: self.use(mem), least=1)
        node.dereg("mr")

    def test_window(self, kind):
        """window of type {kind}"""
        node = self.node

        def done():
            lines = [line for line in self.keys() if f" mw{kind} " in line]
            expect(len(lines) == 1, f"windows: {lines}")

        self.sweep(lambda: node.mw("mw", kind), lambda: node.mw_close("mw"), done=done)

    def test_dealloc(self, kind):
        """end of a window of type {kind}, bound"""
        node = self.node
        node.reg("mr", "a page", ALL | BIND)

        def bound():
            node.mw("mw", kind)
            wcs, self.bound = node.bind("pd", "mw", "mr", node.mem_addr("a page"), PAGE,
                                        READ | WRITE)
            good(wcs, 1, "bind")

        bound()
        self.sweep(lambda: node.mws["mw"].close(), bound, done=lambda: None,
                   still=lambda: self.use("a page", key=self.bound), least=0)
        node.mw_close("mw")
        node.dereg("mr")

    def test_bind(self, kind):
        """bind of a window of type {kind}"""
        node = self.node
        node.reg("mr", "a page", ALL | BIND)
        node.mw("mw", kind)
        args = ("pd", "mw", "mr", node.mem_addr("a page"), PAGE, READ | WRITE)

        def call():
            self.bound = None
            self.bound = node.post_bind(*args)

        def done():
            good(node.sent("pd", 2, 0.1), 1, "bind")	# and no other completion
            self.use("a page", key=self.bound)

        def still():
            expect(not node.sent("pd", 1, 0.1), "it was done in spite of the error")

        def undo():
            if kind == 1:
                good(node.bind(*args[:4], 0, 0)[0], 1, "bind of nothing")
            else:
                good(node.invalidate("pd", self.bound)[0], 1, "LOCAL_INV")

        self.sweep(call, undo, done=done, still=still, always=True, least=0)
        node.mw_close("mw")
        node.dereg("mr")

    # all of them

    def memories(self):
        """Map them, all their pages there: what the tests have."""
        node = self.node
        node.mem("a page", PAGE, None)
        node.mem("another page", PAGE, None)
        # small ones, touched at random: few follow each other
        for name in ("many pages", "other many pages"):
            addr = ctypes.c_void_p(node.mem(name, 4 << 20, None))
            expect(not libc.madvise(addr, ctypes.c_size_t(4 << 20), MADV_NOHUGEPAGE), "madvise")
        node.mem("donor's memory", 16 * PAGE, self.donor)
        places = [(name, at) for name, memory in node.mems.items()
                  for at in range(0, memory.size, PAGE)]
        random.shuffle(places)
        for name, at in places:
            node.fill(name, random.randbytes(16), at)
        node.reg("mr", "many pages")
        line = self.line("mr")
        node.dereg("mr")
        expect(int(line.split(" runs ")[1].split()[0]) > 500, f"too few runs: {line}")

        write("/proc/sys/vm/nr_hugepages", "2")
        fd = os.memfd_create("huge", os.MFD_HUGETLB)
        os.ftruncate(fd, HUGE)
        node.mem("a huge page", HUGE, f"/proc/self/fd/{fd}")
        node.fill("a huge page", b"x")
        os.close(fd)

    def clean(self):
        """After a test that has failed: as before it."""
        node = self.node
        for things in (node.mws, node.mrs):
            for name in set(things) - {"desk"}:
                things.pop(name).close()
        for name in list(node.qps):
            node.destroy(name)
        for pd in ("pd", "other"):
            self.connect(pd)

    def plan(self):
        """All tests, with their arguments."""
        places = ("a page", "many pages", "a huge page", "donor's memory")
        yield from ((self.test_reg, (mem,)) for mem in places)
        yield self.test_reg_nothing, ()
        yield from ((self.test_dmabuf, (kind,)) for kind in ("udmabuf", "heap"))
        yield self.test_link, ("dummy9",)
        yield from ((self.test_dereg, (mem,)) for mem in ("many pages", "donor's memory"))
        yield from ((self.test_move, pair) for pair in (
            ("a page", "another page"), ("many pages", "other many pages"),
            ("a page", "donor's memory"), ("donor's memory", "a huge page")))
        yield from ((self.test_rights, (mem,)) for mem in ("many pages", "donor's memory"))
        yield self.test_pd, ("a page",)
        for test in (self.test_window, self.test_bind, self.test_dealloc):
            yield test, (1,)
            yield test, (2,)

    def test_end(self):
        """all memory is back where it is from"""
        node = self.node
        node.dereg("desk")
        for name in list(node.qps):
            node.destroy(name)
        for name in list(node.mems):
            node.unmap(name)
        total, free = values("/proc/meminfo", "HugePages_Total", "HugePages_Free")
        expect(total == free == 2, f"{free} of {total} huge pages are free")
        size, end = self.before[0]["donor"], time.monotonic() + 10
        while node.available(self.donor) != size and time.monotonic() < end:
            time.sleep(0.1)
        state, objects = self.before
        self.compare("all in all", self.state(), state)
        expect(self.objects() == objects, f"objects {self.objects()}, before {objects}")


def describe(test, args):
    """What a test says of itself."""
    names = test.__code__.co_varnames[1:]
    return test.__doc__.format(**dict(zip(names, args)))


def main(dev, ip, donor):
    """Run all tests; the exit status."""
    gc.disable()	# objects shall end where the tests say so
    keys = Keys(dev, ip, donor)
    keys.memories()
    plan = [*keys.plan(), (keys.test_end, ())]
    failed = 0
    for number, (test, args) in enumerate(plan, 1):
        verdict = "ok"
        try:
            test(*args)
        except Exception:	# pylint: disable=broad-except
            verdict = "not ok"
            failed += 1
            print("# " + traceback.format_exc().rstrip().replace("\n", "\n# "))
            keys.clean()
        print(f"{verdict} {number} - {describe(test, args)}", flush=True)
    print(f"1..{len(plan)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
