#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A persistent donor: the offset is the place, the bytes stay."""

import errno
import fcntl
import mmap
import os
import struct
import unittest

from p2pmem_guest import (IVSHMEM, PAGE, Child, Mapping, attr, available,
                          bind, libc, main, opened, pci_functions,
                          unbind, wait_for, write)

PARAMETER = "/sys/module/p2pmem_bar/parameters/persistent"
INFO = 0x8040BC00


class PersistTest(unittest.TestCase):
    def setUp(self):
        write(PARAMETER, "1")
        self.bdf = pci_functions(IVSHMEM)[0]
        self.name = bind(self.bdf)
        self.size = int(attr(self.name, "size"))
        self.fd = opened(self.name)

    def tearDown(self):
        os.close(self.fd)
        self.assertEqual(available(self.name), self.size)
        unbind(self.bdf)
        write(PARAMETER, "0")

    def again(self):
        os.close(self.fd)
        unbind(self.bdf)
        self.assertEqual(bind(self.bdf), self.name)
        self.fd = opened(self.name)

    def test_attributes(self):
        self.assertEqual(attr(self.name, "persistent"), "1")
        info = struct.unpack("QQII5Q", fcntl.ioctl(self.fd, INFO, bytes(64)))
        self.assertEqual(info[:4], (self.size, self.size, 1, 0))

    def test_the_offset_is_the_place(self):
        a = Mapping(self.fd, PAGE, offset=5 * PAGE)
        a.put(16, b"fifth page")
        self.assertEqual(a.place(), 5 * PAGE)
        a.unmap()
        b = Mapping(self.fd, 8 * PAGE, offset=PAGE)
        self.assertEqual(b[4 * PAGE + 16:4 * PAGE + 26], b"fifth page")
        b.unmap()

    def test_a_pinned_page_of_two_regions(self):
        """Whichever of them is the last one to go waits for it."""
        for first, second in ((0, 1), (1, 0)):
            both, one = Mapping(self.fd, 2 * PAGE), Mapping(self.fd, PAGE)
            pipes = [os.pipe(), os.pipe()]
            # a pin that is left would hold the donor
            for fd in pipes[0] + pipes[1]:
                self.addCleanup(os.close, fd)
            try:
                for i, (_, to) in enumerate(pipes):
                    iovec = struct.pack("PN", both.address + i * PAGE, PAGE)
                    if libc.vmsplice(to, iovec, 1, 0) != PAGE:
                        self.skipTest("this kernel lets nobody pin the pages so")
            finally:
                (both, one)[first].unmap()
                (both, one)[second].unmap()
            os.read(pipes[1][0], PAGE)
            # page 0 is in the pipe still
            lost = wait_for(lambda: available(self.name) > self.size - PAGE, 1)
            os.read(pipes[0][0], PAGE)
            self.assertFalse(lost)
            self.assertTrue(wait_for(lambda: available(self.name) == self.size))

    def test_a_new_donation_finds_the_bytes(self):
        """The self-test writes at both ends and in the middle."""
        pattern = bytes(range(256)) * 2
        places = (0, self.size // 2 - 256, self.size - 512)
        m = Mapping(self.fd, self.size)
        for at in places:
            m.put(at, pattern)
        m.unmap()
        self.again()
        m = Mapping(self.fd, self.size)
        for at in places:
            self.assertEqual(m[at:at + 512], pattern)
        m.unmap()

    def test_outside(self):
        for offset, length in ((0, self.size + PAGE), (self.size, PAGE),
                               (self.size - PAGE, 2 * PAGE),
                               (1 << 62, PAGE), (PAGE, self.size)):
            with self.assertRaises(OSError) as e:
                Mapping(self.fd, length, offset=offset)
            self.assertEqual(e.exception.errno, errno.EINVAL)
        self.assertEqual(available(self.name), self.size)

    def test_shared_places_count_once(self):
        a = Mapping(self.fd, 4 * PAGE, offset=2 * PAGE)
        self.assertEqual(available(self.name), self.size - 4 * PAGE)
        b = Mapping(self.fd, 4 * PAGE, offset=4 * PAGE)
        self.assertEqual(available(self.name), self.size - 6 * PAGE)
        a.put(2 * PAGE, b"both see it")
        self.assertEqual(b[0:11], b"both see it")
        a.unmap()
        self.assertEqual(available(self.name), self.size - 4 * PAGE)
        b.unmap()

    def test_another_process_sees_it(self):
        m = Mapping(self.fd, PAGE, offset=3 * PAGE)
        m.put(0, bytes(32))

        def work(_step):
            other = Mapping(opened(self.name), PAGE, offset=3 * PAGE)
            other.put(0, b"from the other process")

        c = Child(work)
        self.assertTrue(c.step())
        self.assertEqual(c.end(), 0)
        self.assertEqual(m[0:22], b"from the other process")
        m.unmap()

    def test_msync(self):
        m = Mapping(self.fd, 4 * PAGE, offset=PAGE)
        m.put(0, b"durable")
        self.assertEqual(libc.msync(m.address, 4 * PAGE, 4), 0)
        os.fsync(self.fd)
        m.unmap()

    def test_private_is_refused(self):
        with self.assertRaises(OSError) as e:
            Mapping(self.fd, PAGE, flags=mmap.MAP_PRIVATE)
        self.assertEqual(e.exception.errno, errno.EINVAL)


if __name__ == "__main__":
    main("p2pmem_bar")
