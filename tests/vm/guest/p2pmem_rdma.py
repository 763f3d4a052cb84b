# SPDX-License-Identifier: GPL-2.0
"""What tests need that reach a donor's memory by RDMA, within one guest."""

import os
import struct
import subprocess
import sys
import time

from p2pmem_guest import PAGE
from p2pmem_ioctl import alloc, close, export
from p2pmem_take import Taking

sys.path.insert(0, "/srnic/tests/vm/lib")
# pylint: disable=wrong-import-position
import rdmanode  # noqa: E402

from pyverbs.mr import DmaBufMR  # noqa: E402

MAGIC = b"p2pmem by RDMA: "


class Rdma(Taking):
    """Two nodes on srnic0, connected: 'other' is the peer that asks."""

    @classmethod
    def setUpClass(cls):
        subprocess.run("rdma link add srnic0 type srnic netdev eth0", shell=True,
                       check=True)

    @classmethod
    def tearDownClass(cls):
        subprocess.run("rdma link del srnic0", shell=True, check=True)

    def setUp(self):
        super().setUp()
        deadline = time.monotonic() + 20
        while True:
            try:
                self.node = rdmanode.Node("srnic0", os.environ["MY_IP"])
                break
            except rdmanode.NodeError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        self.other = rdmanode.Node("srnic0", os.environ["MY_IP"])
        rdmanode.pair(self.other, self.node, "qp")
        self.other.mem("mine", PAGE)
        self.mine = self.other.reg("mine", "mine")[:2]

    def tearDown(self):
        rdmanode.unpair(self.other, self.node, "qp")
        self.other.dereg("mine")
        self.other.unmap("mine")
        for node in (self.node, self.other):
            node.ctx.close()
        super().tearDown()

    def ask(self, op, addr, key, length=8, status="SUCCESS", **kw):
        """One request of the other node; what came back."""
        address, lkey = self.mine
        self.other.post("qp", op, [(address, length, lkey)], addr=addr, rkey=key, **kw)
        wcs = self.other.sent("qp")
        self.assertEqual([wc["status"] for wc in wcs], [status], op)
        return self.other.look("mine", length)

    def dead(self, op, addr, key):
        """The key is refused, which the connection doesn't survive."""
        self.ask(op, addr, key, status="REM_ACCESS_ERR")
        rdmanode.unpair(self.other, self.node, "qp")
        rdmanode.pair(self.other, self.node, "qp")

    def exchange(self, key, at, m):
        """WRITE, READ and atomics at an address that is the mapping's start."""
        self.other.fill("mine", MAGIC)
        self.ask("WRITE", at + 8, key, len(MAGIC))
        self.assertEqual(m[8:8 + len(MAGIC)], MAGIC)
        m.put(64, bytes(reversed(MAGIC)))
        self.assertEqual(self.ask("READ", at + 64, key, len(MAGIC)), bytes(reversed(MAGIC)))
        m.put(0, struct.pack("<Q", 40))
        self.assertEqual(self.ask("ADD", at, key, add=2), struct.pack("<Q", 40))
        self.assertEqual(m[0:8], struct.pack("<Q", 42))
        self.ask("CAS", at, key, add=42, swap=7)
        self.assertEqual(m[0:8], struct.pack("<Q", 7))

    def under_fire(self, depart):
        """WRITEs without end into a dma-buf: the donor goes within its bound."""
        size = 256 * PAGE
        region = alloc(self.fd, size)
        buf = export(region)
        mr = DmaBufMR(self.node.pds["pd"], size, rdmanode.ALL, buf, 0)
        self.other.mem("big", size)
        address, lkey, _ = self.other.reg("big", "big")
        for _ in range(60):
            self.other.post("qp", "WRITE", [(address, size, lkey)], addr=0, rkey=mr.rkey)
        start = time.monotonic()
        depart()
        took = time.monotonic() - start
        wcs = self.other.sent("qp", 60, 30)
        self.assertEqual(len(wcs), 60)
        self.assertIn("REM_ACCESS_ERR", [wc["status"] for wc in wcs])
        self.assertLess(took, 5)
        mr.close()
        self.other.dereg("big")
        self.other.unmap("big")
        close(buf, region)
