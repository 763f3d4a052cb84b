#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Pins that p2pmem knows nothing of: an MR of rdma_rxe, where the kernel lets
it have one (without CONFIG_PCI_P2PDMA)."""

import errno
import os
import re
import subprocess
import threading
import time
import unittest

from p2pmem_guest import (IVSHMEM, PAGE, PCI, Mapping, attr, available, bind,
                          bound, log_mark, log_since, main, opened, p2pdma,
                          pci_functions, unbind, wait_for, write)

import pyverbs.enums as e
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError

ACCESS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE


class PinsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run("rdma link add rxe0 type rxe netdev eth0", shell=True,
                       check=True)

    @classmethod
    def tearDownClass(cls):
        subprocess.run("rdma link del rxe0", shell=True, check=True)

    def setUp(self):
        self.bdf = pci_functions(IVSHMEM)[0]
        self.name = bind(self.bdf)
        self.size = int(attr(self.name, "size"))
        self.fd = opened(self.name)
        self.context = Context(name="rxe0")
        self.addCleanup(self.context.close)
        self.pd = PD(self.context)
        m = Mapping(self.fd, PAGE)
        refusal = None
        try:
            self.register(m).close()
        except PyverbsRDMAError as err:
            refusal = err.error_code
        m.unmap()
        if refusal:
            self.assertIn(refusal, (errno.EREMOTEIO, errno.EFAULT))
            self.assertTrue(p2pdma(self.bdf), "any other kernel does")
            self.tearDown()
            self.skipTest("this kernel lets no driver pin the pages for long")

    def tearDown(self):
        os.close(self.fd)
        if bound(self.bdf):
            self.assertTrue(wait_for(lambda: available(self.name) == self.size))
            unbind(self.bdf)

    def register(self, m):
        return MR(self.pd, m.length, ACCESS, address=m.address)

    def test_a_pinned_region_stays(self):
        m = Mapping(self.fd, 16 * PAGE)
        m.put(0, b"pinned")
        mr = self.register(m)
        m.unmap()
        time.sleep(0.3)
        self.assertEqual(available(self.name), self.size - 16 * PAGE)
        rest = Mapping(self.fd, self.size - 16 * PAGE)
        with self.assertRaises(OSError):
            Mapping(self.fd, PAGE)
        rest.unmap()
        mr.close()
        self.assertTrue(wait_for(lambda: available(self.name) == self.size, 2))
        m = Mapping(self.fd, 16 * PAGE)
        self.assertEqual(m[0:6], bytes(6))
        m.unmap()

    def test_the_donor_waits_and_says_so(self):
        m = Mapping(self.fd, 16 * PAGE)
        mr = self.register(m)
        mark = log_mark("p2pmem test: waiting")
        t = threading.Thread(target=unbind, args=(self.bdf,))
        t.start()
        self.assertTrue(wait_for(
            lambda: any("16 pages are still pinned" in i
                        for i in log_since(mark)), 30))
        self.assertTrue(t.is_alive())
        # whose they are: who took the memory, and whom the driver has charged
        self.assertTrue(wait_for(lambda: any(
            re.search(rf"16 pages at 0x0, taken by \S+ \(pid {os.getpid()}\) with mmap, "
                      "are pinned for DMA", i) for i in log_since(mark))))
        self.assertTrue(wait_for(lambda: any(
            re.search(rf"\(pid {os.getpid()}\) has 16 pages pinned by drivers", i)
            for i in log_since(mark))))
        mr.close()
        t.join(10)
        self.assertFalse(t.is_alive())
        m.unmap()

    def test_a_removal_that_waits(self):
        """It has the PCI layer's lock: whoever looks around must not want that."""
        second = pci_functions(IVSHMEM)[1]
        bind(second)
        m = Mapping(self.fd, 16 * PAGE)
        mr = self.register(m)
        m.unmap()
        mark = log_mark("p2pmem test: removal")
        t = threading.Thread(target=write, args=(PCI + self.bdf + "/remove", "1"))
        t.start()
        self.assertTrue(wait_for(lambda: any("16 pages are still pinned" in i
                                             for i in log_since(mark)), 30))
        with subprocess.Popen(["p2pmem", "tree"], stdout=subprocess.DEVNULL) as p:
            ended = wait_for(lambda: p.poll() is not None, 20)
            mr.close()
            t.join(10)
            self.assertFalse(t.is_alive())
            self.assertTrue(ended)
        write("/sys/bus/pci/rescan", "1")
        unbind(second)

    def test_many_pinned_and_released(self):
        for n in range(50):
            maps = [Mapping(self.fd, (1 + n % 7) * PAGE) for _ in range(4)]
            mrs = [self.register(m) for m in maps]
            for m in maps:
                m.unmap()
            for mr in mrs:
                mr.close()
        self.assertTrue(wait_for(lambda: available(self.name) == self.size, 2))


if __name__ == "__main__":
    main("p2pmem_bar", "rdma_rxe", "ib_uverbs")
