#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Every allocation on the paths of a program and of a taker fails once:
fail-nth sweeps on the debug kernel. Whatever fails, nothing is left behind
and the next try succeeds. (Not so a donation: the kernel itself warns when it
can't make pages for lack of memory.)"""

import errno
import os
import unittest

from p2pmem_guest import (IVSHMEM, PAGE, Mapping, Taker, attr, available,
                          bind, bound, main, opened, pci_functions, unbind,
                          wait_for, write)
from p2pmem_ioctl import alloc, close, export

FAIL = "/proc/thread-self/fail-nth"
DEBUGFS = "/sys/kernel/debug/"
MOST = 3000


def sweep(call):
    """Call with the 1st, 2nd, ... allocation failing, until none is left to
    fail. Yields the exception of each try, None for a success."""
    for nth in range(1, MOST):
        fd = os.open(FAIL, os.O_RDWR)
        error = None
        os.write(fd, str(nth).encode())
        try:
            call()
        except OSError as e:
            error = e
        left = int(os.pread(fd, 16, 0).split(b"\0")[0])
        os.pwrite(fd, b"0", 0)
        os.close(fd)
        yield error
        if left:
            return
    raise AssertionError("no end of allocations")


@unittest.skipUnless(os.path.exists(FAIL), "a kernel without fault injection")
class FailTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for kind in ("failslab", "fail_page_alloc"):
            write(DEBUGFS + kind + "/ignore-gfp-wait", "N")
            write(DEBUGFS + kind + "/verbose", "0")

    def setUp(self):
        self.bdf = pci_functions(IVSHMEM)[0]
        self.name = bind(self.bdf)
        self.size = int(attr(self.name, "size"))
        self.errors = []

    def tearDown(self):
        if bound(self.bdf):
            self.assertEqual(available(self.name), self.size)
            unbind(self.bdf)

    def check(self, errors, *allowed):
        """At least one failure was seen, and none of another kind."""
        codes = [e.errno for e in errors if e]
        self.assertTrue(codes)
        self.assertLessEqual(set(codes), set(allowed))

    def test_open(self):
        fds = []

        def call():
            fds.append(opened(self.name))

        self.check(list(sweep(call)), errno.ENOMEM, errno.ENFILE)
        for fd in fds:
            os.close(fd)

    def test_mmap(self):
        fd = opened(self.name)
        maps, errors = [], []

        def call():
            maps.append(Mapping(fd, 1030 * PAGE))

        for error in sweep(call):
            errors.append(error)
            if error:
                # pages that were mapped already come back by the reaper
                self.assertTrue(wait_for(
                    lambda: available(self.name) == self.size))
            else:
                maps.pop().unmap()
        self.check(errors, errno.ENOMEM)
        os.close(fd)

    def test_alloc(self):
        fd = opened(self.name)
        fds = []

        def call():
            fds.append(alloc(fd, 16 * PAGE))

        for error in sweep(call):
            self.check_used(16 * PAGE * len(fds), error)
        self.check(self.errors, errno.ENOMEM, errno.ENFILE)
        close(fd, *fds)

    def test_export(self):
        fd = opened(self.name)
        region = alloc(fd, 16 * PAGE)
        fds = []

        def call():
            fds.append(export(region))

        for error in sweep(call):
            self.check_used(16 * PAGE, error)
        self.check(self.errors, errno.ENOMEM, errno.ENFILE)
        # each of them is whole
        for buf in fds:
            Mapping(buf, PAGE).unmap()
        close(region, fd)
        self.assertEqual(available(self.name), self.size - 16 * PAGE)
        close(*fds)

    def check_used(self, size, error):
        """After each try, failed or not: what is in use is what was got."""
        self.errors.append(error)
        self.assertEqual(available(self.name), self.size - size)

    def test_hold(self):
        fd = opened(self.name)
        taker = Taker()
        m = Mapping(fd, PAGE)
        holds = []

        def call():
            holds.append(taker.hold(m.address, PAGE))

        self.check(list(sweep(call)), errno.ENOMEM)
        self.assertNotIn(None, holds)
        for h in holds:
            taker.put(h)
        m.unmap()
        taker.close()
        os.close(fd)

    def test_kernel_code_allocates(self):
        taker = Taker()
        self.assertIsNotNone(taker.find(self.bdf))
        holds = []
        for call in (lambda: holds.append(taker.alloc(PAGE)),
                     lambda: taker.sgt(holds[0], 0)):
            self.check(list(sweep(call)), errno.ENOMEM)
        for h in holds:
            taker.put(h)
        taker.close()


if __name__ == "__main__":
    main("p2pmem_bar", "p2pmem_taker")
