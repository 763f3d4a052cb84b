#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The in-kernel API, driven through p2pmem_taker. Donors: bar."""

import errno
import mmap
import os
import subprocess
import threading
import time
import unittest

from p2pmem_guest import (IVSHMEM, PAGE, Mapping, Taker, attach, attr, available,
                          bind, bound, detach, donations, fork, libc, main, opened,
                          pci_functions, race, reap, unbind)

WORD = 0x1122334455667788
TASK_SIZE = (1 << 47) - PAGE


class HoldTest(unittest.TestCase):
    def setUp(self):
        self.bdf = pci_functions(IVSHMEM)[0]
        self.name = bind(self.bdf)
        self.size = int(attr(self.name, "size"))
        self.fd = opened(self.name)
        self.taker = Taker()

    def tearDown(self):
        self.taker.close()
        os.close(self.fd)
        if bound(self.bdf):
            self.assertEqual(available(self.name), self.size)
            unbind(self.bdf)

    def fails(self, code, call, *args, **kw):
        with self.assertRaises(OSError) as e:
            call(*args, **kw)
        self.assertEqual(e.exception.errno, code)

    def test_access(self):
        m = Mapping(self.fd, 4 * PAGE)
        h = self.taker.hold(m.address + PAGE + 16, PAGE)
        self.taker.write(h, 8, WORD)
        self.assertEqual(m[PAGE + 24:PAGE + 32], WORD.to_bytes(8, "little"))
        m.put(PAGE + 16, bytes(range(8)))
        self.assertEqual(self.taker.read(h, 0),
                         int.from_bytes(bytes(range(8)), "little"))
        self.taker.put(h)
        m.unmap()

    def test_not_p2pmem(self):
        ram = Mapping(-1, 4 * PAGE,
                      flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for start, length in ((ram.address, PAGE), (0, 1), (PAGE, 1 << 20),
                              (TASK_SIZE, PAGE), (1 << 63, PAGE),
                              ((1 << 64) - PAGE, PAGE - 1)):
            self.assertIsNone(self.taker.hold(start, length))
        m = Mapping(self.fd, PAGE)
        self.assertIsNone(self.taker.hold(m.address, 0))
        m.unmap()
        ram.unmap()

    def test_partly(self):
        m = Mapping(self.fd, 4 * PAGE)
        m.unmap(0, PAGE)
        m.unmap(3 * PAGE, PAGE)
        middle = m.address + PAGE
        for start, length in ((middle - 1, 2), (middle - 1, 2 * PAGE + 1),
                              (middle, 2 * PAGE + 1), (middle + 2 * PAGE - 1, 2),
                              (middle - PAGE, 4 * PAGE), (0, TASK_SIZE),
                              (middle, (1 << 64) - 1), (middle, 1 << 63)):
            self.fails(errno.EFAULT, self.taker.hold, start, length)
        self.taker.put(self.taker.hold(middle, 2 * PAGE))
        # with memory of another kind on either side
        for at in (middle - PAGE, middle + 2 * PAGE):
            libc.mmap(at, PAGE, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x10,
                      -1, 0)
        self.fails(errno.EFAULT, self.taker.hold, middle - 1, 2)
        self.fails(errno.EFAULT, self.taker.hold, middle + 2 * PAGE - 1, 2)
        self.assertIsNone(self.taker.hold(middle - PAGE, PAGE))
        m.unmap()

    def test_across_allocations(self):
        room = Mapping(-1, 2 * PAGE,
                       flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for i in (0, 1):
            libc.mmap(room.address + i * PAGE, PAGE, 3, mmap.MAP_SHARED | 0x10,
                      self.fd, 0)
        self.fails(errno.EFAULT, self.taker.hold, room.address, 2 * PAGE)
        self.fails(errno.EFAULT, self.taker.hold, room.address + PAGE - 1, 2)
        self.taker.put(self.taker.hold(room.address, PAGE))
        self.taker.put(self.taker.hold(room.address + PAGE, PAGE))
        room.unmap()

    def test_protection(self):
        m = Mapping(self.fd, 4 * PAGE)
        libc.mprotect(m.address + PAGE, PAGE, mmap.PROT_READ)
        self.fails(errno.EFAULT, self.taker.hold, m.address, 4 * PAGE)
        self.fails(errno.EFAULT, self.taker.hold, m.address + PAGE, PAGE)
        # the VMA is split in three, the range is one
        h = self.taker.hold(m.address, 4 * PAGE, writable=False)
        m.put(3 * PAGE, WORD.to_bytes(8, "little"))
        self.assertEqual(self.taker.read(h, 3 * PAGE), WORD)
        self.taker.put(h)
        libc.mprotect(m.address + PAGE, PAGE, 0)
        self.fails(errno.EFAULT, self.taker.hold, m.address, 4 * PAGE,
                   writable=False)
        m.unmap()

    def test_outlives_munmap(self):
        m = Mapping(self.fd, self.size)
        h = self.taker.hold(m.address + self.size - PAGE, PAGE)
        self.taker.write(h, 0, WORD)
        m.unmap()
        self.assertEqual(available(self.name), 0)
        self.fails(errno.ENOMEM, Mapping, self.fd, PAGE)
        self.assertEqual(self.taker.read(h, 0), WORD)
        self.taker.put(h)
        self.assertEqual(available(self.name), self.size)
        m = Mapping(self.fd, self.size)
        self.assertEqual(m[self.size - PAGE:self.size].count(0), PAGE)
        m.unmap()

    def test_outlives_the_process(self):
        def child():
            m = Mapping(self.fd, 2 * PAGE)
            self.taker.hold(m.address, PAGE)

        self.assertEqual(reap(fork(child)), 0)
        self.assertEqual(available(self.name), self.size - 2 * PAGE)

    def test_persist(self):
        m = Mapping(self.fd, 2 * PAGE)
        h = self.taker.hold(m.address, PAGE)
        self.taker.persist(h, 0, PAGE)
        self.taker.persist(h, PAGE - 8, 8)
        self.fails(errno.EINVAL, self.taker.persist, h, 0, PAGE + 1)
        self.fails(errno.EINVAL, self.taker.persist, h, 8, (1 << 64) - 8)
        self.taker.put(h)
        m.unmap()

    def test_revoke(self):
        m = Mapping(self.fd, 4 * PAGE)
        before = self.taker.revokes()
        holds = [self.taker.hold(m.address, PAGE) for _ in range(10)]
        self.taker.put(holds.pop())
        m.unmap()
        unbind(self.bdf)
        self.assertEqual(self.taker.revokes() - before, 9)
        for h in holds:
            self.fails(errno.EIO, self.taker.read, h, 0)
        # not put yet, and the donor comes back
        self.assertEqual(bind(self.bdf), self.name)
        self.assertEqual(available(self.name), self.size)
        for h in holds:
            self.taker.put(h)
        self.assertEqual(available(self.name), self.size)

    def test_put_waits_for_revoke(self):
        m = Mapping(self.fd, PAGE)
        h = self.taker.hold(m.address, PAGE, revoke_ms=700)
        t = threading.Thread(target=unbind, args=(self.bdf,))
        start = time.monotonic()
        t.start()
        time.sleep(0.2)
        self.taker.put(h)
        took = time.monotonic() - start
        t.join()
        self.assertGreaterEqual(took, 0.6)
        m.unmap()

    def test_no_hold_after_the_donor_went(self):
        m = Mapping(self.fd, PAGE)
        unbind(self.bdf)
        self.fails(errno.ENODEV, self.taker.hold, m.address, PAGE)
        m.unmap()

    def test_the_donor_of_the_headers_example(self):
        """include/linux/p2pmem.h's: it donates what follows the first 4 MiB."""
        unbind(self.bdf)
        subprocess.run(["modprobe", "p2pmem_example"], check=True)
        names = attach("p2pmem_example", self.bdf)
        self.assertEqual([available(name) for name in names], [self.size - (4 << 20)])
        detach(self.bdf)
        self.assertEqual(donations(self.bdf), [])
        subprocess.run(["rmmod", "p2pmem_example"], check=True)

    def test_holds_against_unbind(self):
        """Hold, access and put in several threads; the donor comes and goes."""
        def child(on, got):
            taker = Taker()
            while on():
                try:
                    fd = opened(self.name)
                except OSError:
                    continue
                try:
                    m = Mapping(fd, 4 * PAGE)
                except OSError as e:
                    os.close(fd)
                    if e.errno != errno.ENODEV:
                        raise
                    continue
                for _ in range(10):
                    try:
                        h = taker.hold(m.address, 4 * PAGE)
                    except OSError as e:
                        if e.errno != errno.ENODEV:
                            raise
                        break
                    try:
                        taker.write(h, 8, os.getpid())
                        if taker.read(h, 8) != os.getpid():
                            raise AssertionError("somebody else's bytes")
                        got()
                    except OSError as e:
                        if e.errno != errno.EIO:
                            raise
                    taker.put(h)
                m.unmap()
                os.close(fd)
            taker.close()

        race(self.bdf, child)


if __name__ == "__main__":
    main("p2pmem_bar", "p2pmem_taker")
