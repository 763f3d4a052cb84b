#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The donor goes while its memory is in use. Donors: bar, bar."""

import ctypes
import errno
import os
import signal
import subprocess
import unittest

from p2pmem_guest import (IVSHMEM, PAGE, PCI, Child, Mapping, attr, available,
                          bind, fork, libc, main, opened, pci_functions, race,
                          read, reap, unbind, wait_for, write)


def modules():
    return {line.split()[0]: line.split()[2]
            for line in read("/proc/modules").split("\n")}


def touch(address):
    """Does an access at that address end in SIGBUS?"""
    def child():
        ctypes.string_at(address, 1)
    return reap(fork(child)) == -signal.SIGBUS


class UnplugTest(unittest.TestCase):
    def setUp(self):
        subprocess.run(["modprobe", "p2pmem_bar"], check=True)
        self.bdf = pci_functions(IVSHMEM)[0]
        self.name = bind(self.bdf)
        self.size = int(attr(self.name, "size"))

    def tearDown(self):
        subprocess.run(["rmmod", "p2pmem_bar"], check=True)
        self.assertFalse(os.path.exists("/dev/" + self.name))

    def again(self):
        """The donor comes back and is as new."""
        self.assertEqual(bind(self.bdf), self.name)
        self.assertEqual(available(self.name), self.size)
        fd = opened(self.name)
        m = Mapping(fd, self.size)
        self.assertEqual(m[0:self.size].count(0), self.size)
        m.unmap()
        os.close(fd)

    def test_idle(self):
        unbind(self.bdf)
        self.assertFalse(os.path.exists("/dev/" + self.name))
        self.again()

    def test_mapped(self):
        fd = opened(self.name)
        m = Mapping(fd, 16 * PAGE)
        m.put(0, b"x")
        unbind(self.bdf)
        self.assertTrue(touch(m.address))
        self.assertTrue(touch(m.address + 15 * PAGE))
        with self.assertRaises(OSError) as e:
            Mapping(fd, PAGE)
        self.assertEqual(e.exception.errno, errno.ENODEV)
        self.assertEqual(libc.msync(m.address, PAGE, 4), -1)
        # the donor comes back: not to who has the old memory
        self.again()
        self.assertTrue(touch(m.address))
        m.unmap(0, PAGE)
        self.assertTrue(touch(m.address + PAGE))
        m.unmap()
        os.close(fd)
        unbind(self.bdf)

    def test_mapped_by_a_child_too(self):
        fd = opened(self.name)
        m = Mapping(fd, 16 * PAGE)

        def work(step):
            ctypes.memset(m.address, step + 1, 16 * PAGE)

        c = Child(work)
        self.assertTrue(c.step())
        unbind(self.bdf)
        self.assertFalse(c.step())
        self.assertEqual(c.end(), -signal.SIGBUS)
        self.assertTrue(touch(m.address))
        m.unmap()
        os.close(fd)

    def test_rmmod_with_everything_open(self):
        fd = opened(self.name)
        m = Mapping(fd, 16 * PAGE)
        self.assertEqual(modules()["p2pmem_bar"], "0")
        subprocess.run(["rmmod", "p2pmem_bar"], check=True)
        self.assertTrue(touch(m.address))
        self.assertNotEqual(modules()["p2pmem"], "0")
        subprocess.run(["modprobe", "p2pmem_bar"], check=True)
        self.again()
        m.unmap()
        os.close(fd)
        unbind(self.bdf)
        subprocess.run(["rmmod", "p2pmem_bar"], check=True)
        # the core goes as well, and comes back (another test's module uses it)
        subprocess.run(["rmmod", "p2pmem_taker"], check=False,
                       stderr=subprocess.DEVNULL)
        self.assertEqual(modules()["p2pmem"], "0")
        subprocess.run(["rmmod", "p2pmem"], check=True)
        subprocess.run(["modprobe", "p2pmem_bar"], check=True)

    def test_hot_unplug(self):
        fd = opened(self.name)
        m = Mapping(fd, 16 * PAGE)
        bridge = os.path.realpath(PCI + self.bdf + "/..")
        write(PCI + self.bdf + "/remove", "1")
        self.assertTrue(touch(m.address))
        m.unmap()
        os.close(fd)
        write(bridge + "/rescan", "1")
        self.assertTrue(wait_for(lambda: os.path.exists(PCI + self.bdf)))
        self.again()
        unbind(self.bdf)

    def test_two_donors_are_independent(self):
        other = pci_functions(IVSHMEM)[1]
        name = bind(other)
        self.assertNotEqual(name, self.name)
        fd = opened(name)
        m = Mapping(fd, PAGE)
        m.put(0, b"still here")
        unbind(self.bdf)
        self.assertEqual(m[0:10], b"still here")
        self.assertEqual(available(name), int(attr(name, "size")) - PAGE)
        m.unmap()
        os.close(fd)
        unbind(other)

    def test_open_and_map_against_unbind(self):
        """Many programs at work while the donor comes and goes."""
        def child(on, got):
            signal.signal(signal.SIGBUS, signal.SIG_DFL)
            while on():
                try:
                    fd = opened(self.name)
                except OSError as e:
                    if e.errno not in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
                        raise
                    continue
                try:
                    m = Mapping(fd, 64 * PAGE)
                except OSError as e:
                    if e.errno != errno.ENODEV:
                        raise
                else:
                    got()
                    libc.madvise(m.address, 32 * PAGE, 4)
                    ctypes.memset(m.address, 7, 64 * PAGE)
                    m.unmap()
                os.close(fd)

        race(self.bdf, child, mortal=True)
        self.assertEqual(available(self.name), self.size)


if __name__ == "__main__":
    main("p2pmem_bar")
