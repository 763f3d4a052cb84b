# SPDX-License-Identifier: GPL-2.0
"""What tests need that reach a donor's memory by RDMA, within one guest."""

import os
import subprocess
import sys
import time

from p2pmem_guest import PAGE
from p2pmem_take import Taking

sys.path.insert(0, "/srnic/tests/vm/lib")
# pylint: disable=wrong-import-position
import rdmanode  # noqa: E402


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
