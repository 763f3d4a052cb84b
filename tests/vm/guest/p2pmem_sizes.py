#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""WRITE, READ, SEND and atomics into donors of each kind and out of them, each size
from 1 byte to 8 MiB, compared byte by byte with the CPU. Donors: pmr:16M, cmb:8M and
a bar. (perftest moves the same, and compares nothing.)"""

import ctypes
import os
import random
import struct
import time

from p2pmem_guest import (NVME, attach, attr, available, detach, libc, main,
                          pci_functions)
from p2pmem_rdma import Rdma

MIB = 1 << 20
SIZES = [1 << i for i in range(24)]
GUARD = 64		# bytes on either side that are compared as well
OLD = b"\xa5"

libc.memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]


def word(value):
    return struct.pack("<Q", value)


class SizesTest(Rdma):
    """'far' is the donor's memory, 'like' has what should be in it, at the same
    offsets, 'back' takes what comes out of it."""

    def nvme(self, number, kind):
        bdf = pci_functions(NVME)[number]
        self.addCleanup(detach, bdf)
        return next(n for n in attach("p2pmem_nvme", bdf) if attr(n, "kind") == kind)

    def test_bar(self):
        self.every_size(self.name)

    def test_pmr(self):
        self.every_size(self.nvme(0, "pmr"))

    def test_cmb(self):
        self.every_size(self.nvme(1, "cmb"))

    def every_size(self, name):
        self.total = int(attr(name, "size"))
        seed = os.environ.get("SEED") or str(time.time_ns() & 0xffffffff)
        print(f"# seed {seed}", flush=True)
        self.random = random.Random(seed)
        self.noise = self.random.randbytes(9 * MIB)
        self.node.mem("far", self.total, "/dev/" + name)
        self.at = {"far": self.node.reg("far", "far")}
        for mine in ("like", "back"):
            self.other.mem(mine, self.total)
            self.at[mine] = self.other.reg(mine, mine)
        # persistent memory has what somebody left in it
        if attr(name, "persistent") == "1":
            self.other.fill("like", ctypes.string_at(self.node.mem_addr("far"), self.total))
        for size in SIZES:
            with self.subTest(size=size):
                # anywhere; the largest may fit at one place only
                offset = self.random.randint(0, self.total - size)
                for move in (self.in_by_write, self.in_by_send, self.in_by_read):
                    self.fresh(offset, size)
                    move(offset, size)
                    self.same("far", offset, size)
                for move in (self.out_by_read, self.out_by_send, self.out_by_write):
                    self.other.fill("back", OLD * size, offset)
                    move(offset, size)
                    self.same("back", offset, size)
        self.atomics()
        # no other byte of it has been touched, from first to last
        self.same("far", 0, self.total)
        for node, mine in ((self.node, "far"), (self.other, "like"), (self.other, "back")):
            node.dereg(mine)
            node.unmap(mine)
        self.assertEqual(available(name), self.total)

    def fresh(self, offset, size):
        start = self.random.randint(0, len(self.noise) - size)
        self.other.fill("like", self.noise[start:start + size], offset)

    def same(self, what, offset, size):
        """memcmp() reads 8 bytes at a time; a copy may read the BAR byte by byte."""
        if what == "far":
            size += min(offset, GUARD)
            offset -= min(offset, GUARD)
            size = min(size + GUARD, self.total - offset)
        node = self.node if what == "far" else self.other
        self.assertEqual(libc.memcmp(node.mem_addr(what) + offset,
                                     self.other.mem_addr("like") + offset, size), 0)

    def sge(self, what, offset, size):
        address, lkey, _ = self.at[what]
        return [(address + offset, size, lkey)]

    def done(self, node, what="sent", size=None):
        wcs = getattr(node, what)("qp", timeout=60)
        self.assertEqual([wc["status"] for wc in wcs], ["SUCCESS"])
        if size is not None:
            self.assertEqual(wcs[0]["len"], size)

    def one_sided(self, op, node, mine, peers, offset, size):
        address, _, rkey = self.at[peers]
        node.post("qp", op, self.sge(mine, offset, size), addr=address + offset, rkey=rkey)
        self.done(node)

    def send(self, node, mine, peer, peers, offset, size):
        peer.recv("qp", self.sge(peers, offset, size))
        node.post("qp", "SEND", self.sge(mine, offset, size))
        self.done(node)
        self.done(peer, "received", size)

    def in_by_write(self, offset, size):
        self.one_sided("WRITE", self.other, "like", "far", offset, size)

    def in_by_send(self, offset, size):
        self.send(self.other, "like", self.node, "far", offset, size)

    def in_by_read(self, offset, size):
        """The donor's own side asks: its memory is the local one."""
        self.one_sided("READ", self.node, "far", "like", offset, size)

    def out_by_read(self, offset, size):
        self.one_sided("READ", self.other, "back", "far", offset, size)

    def out_by_send(self, offset, size):
        self.send(self.node, "far", self.other, "back", offset, size)

    def out_by_write(self, offset, size):
        self.one_sided("WRITE", self.node, "far", "back", offset, size)

    def both_have(self, value, offset):
        self.other.fill("like", word(value), offset)
        self.same("far", offset, 8)

    def atomics(self):
        """Into the donor's memory, and with the answer in it."""
        target = self.random.randrange(0, self.total // 2, 8)
        answer = self.random.randrange(self.total // 2, self.total - 8)
        self.other.fill("like", word(40), target)
        self.in_by_write(target, 8)
        far, _, rkey = self.at["far"]
        self.assertEqual(self.ask("ADD", far + target, rkey, add=1 << 40 | 2), word(40))
        self.both_have(1 << 40 | 42, target)
        self.assertEqual(self.ask("CAS", far + target, rkey, add=1 << 40 | 42, swap=7),
                         word(1 << 40 | 42))
        self.both_have(7, target)

        like, _, rkey = self.at["like"]
        for op, add, swap, new in (("ADD", 5, 0, 12), ("CAS", 12, 3, 3)):
            old = self.other.look("like", 8, target)
            self.node.post("qp", op, self.sge("far", answer, 8), addr=like + target,
                           rkey=rkey, add=add, swap=swap)
            self.done(self.node)
            self.assertEqual(self.other.look("like", 8, target), word(new))
            self.both_have(struct.unpack("<Q", old)[0], answer)
        self.in_by_write(target, 8)


if __name__ == "__main__":
    main("p2pmem_bar", "p2pmem_nvme", "p2pmem_taker", "srnic", "ib_uverbs")
