#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""p2pmem_fail.py's sweeps, over what a dma-buf's importer and a taker with DMA do.
Donors: bar, bar."""

import errno
import os
import unittest

import p2pmem_fail
from p2pmem_dmabuf import Importer
from p2pmem_guest import PAGE, Mapping, Taker, attr, main
from p2pmem_ioctl import alloc, close, export
from p2pmem_take import Taking


@unittest.skipUnless(os.path.exists(p2pmem_fail.FAIL), "a kernel without fault injection")
class ImportFailTest(Taking):
    """The client is the donor's own function, which P2PDMA lets in as well."""

    @classmethod
    def setUpClass(cls):
        p2pmem_fail.FailTest.setUpClass()

    def setUp(self):
        super().setUp()
        self.region = alloc(self.fd, 16 * PAGE)
        self.buf = export(self.region)

    def tearDown(self):
        close(self.region, self.buf)
        super().tearDown()

    def sweep(self, call, undo, holds, *errors):
        """Each failure is one of ERRORS, and leaves as many holds as were there."""
        seen = set()
        for error in p2pmem_fail.sweep(call):
            if error:
                seen.add(error.errno)
            else:
                undo()
            self.used(16 * PAGE)
            self.assertEqual(self.holds(), holds)
        self.assertIn(errno.ENOMEM, seen)
        self.assertLessEqual(seen, {errno.ENOMEM, *errors})

    def holds(self):
        """What clients have of the donor: ADDRESS DISTANCE VERDICT HOLDS."""
        return sum(int(line.split()[3]) for line in attr(self.name, "clients").splitlines())

    def test_attach(self):
        imports = []

        def undo():
            i = imports.pop()
            i.pin()
            i.map()
            i.close()

        self.sweep(lambda: imports.append(Importer(self.buf, self.bdf)), undo, 0, errno.ENFILE)

    def test_map(self):
        i = Importer(self.buf, self.bdf)
        for pinned in (False, True):
            if pinned:
                i.pin()
            self.sweep(i.map, i.unmap, 1)
        i.map()
        i.close()
        self.assertEqual(self.holds(), 0)

    def test_map_of_a_hold(self):
        m, taker = Mapping(self.region, 2 * PAGE), Taker()
        taker.client(self.bdf)
        h = [taker.hold(m.address, PAGE)]

        def undo():
            taker.put(h[0])
            h[0] = taker.hold(m.address, PAGE)

        self.sweep(lambda: taker.dma(h[0]), undo, 1)
        taker.close()
        m.unmap()


if __name__ == "__main__":
    main("p2pmem_bar", "p2pmem_taker", "p2pmem_importer")
