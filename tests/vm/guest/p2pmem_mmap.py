#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""/dev/p2pmemN as a program sees it. Runs in a guest with one bar donor."""

import ctypes
import errno
import fcntl
import mmap
import os
import random
import struct
import time
import unittest

from p2pmem_guest import (IVSHMEM, PAGE, Child, Mapping, attr, available,
                          bind, fork, libc, log_mark, log_since, main, opened,
                          p2pdma, pci_functions, randomness, reap, unbind,
                          wait_for)

MAGIC = b"p2pmem was here: "
INFO = 0x8040BC00


class MmapTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bdf = pci_functions(IVSHMEM)[0]
        cls.name = bind(cls.bdf)
        cls.size = int(attr(cls.name, "size"))

    @classmethod
    def tearDownClass(cls):
        unbind(cls.bdf)

    def setUp(self):
        self.fd = opened(self.name)
        self.assertEqual(available(self.name), self.size)

    def tearDown(self):
        os.close(self.fd)
        self.assertEqual(available(self.name), self.size)

    def refused(self, code, *args, **kw):
        with self.assertRaises(OSError) as e:
            Mapping(self.fd, *args, **kw)
        self.assertEqual(e.exception.errno, code)

    def test_attributes(self):
        self.assertEqual(os.stat("/dev/" + self.name).st_mode & 0o777, 0o660)
        self.assertEqual(attr(self.name, "kind"), "bar")
        self.assertEqual(attr(self.name, "persistent"), "0")
        self.assertEqual(os.path.basename(os.path.realpath(
            f"/sys/class/p2pmem/{self.name}/device")), self.bdf)
        resource = f"/sys/bus/pci/devices/{self.bdf}/resource2"
        self.assertEqual(self.size, os.stat(resource).st_size)

    def test_info(self):
        m = Mapping(self.fd, 3 * PAGE)
        info = fcntl.ioctl(self.fd, INFO, bytes(64))
        self.assertEqual(struct.unpack("QQII5Q", info),
                         (self.size, self.size - 3 * PAGE, 0, 0, 0, 0, 0, 0, 0))
        m.unmap()
        with self.assertRaises(OSError) as e:
            fcntl.ioctl(self.fd, INFO + 1, bytes(64))
        self.assertEqual(e.exception.errno, errno.ENOTTY)

    def test_bytes_arrive_in_the_bar(self):
        m = Mapping(self.fd, 2 * PAGE)
        m.put(PAGE - 8, MAGIC)
        at = m.place() + PAGE - 8
        path = f"/sys/bus/pci/devices/{self.bdf}/resource2"
        try:
            with open(path, "rb") as f:
                bar = mmap.mmap(f.fileno(), self.size, prot=mmap.PROT_READ)
        except OSError:
            m.unmap()
            self.skipTest("CONFIG_IO_STRICT_DEVMEM: the file outside tells")
        self.assertEqual(bar[at:at + len(MAGIC)], MAGIC)
        bar.close()
        m.unmap()

    def test_old_data_is_never_seen(self):
        for length in (PAGE, 7 * PAGE, 1 << 20, self.size):
            for _ in range(2):
                m = Mapping(self.fd, length)
                self.assertEqual(m[0:length].count(0), length)
                ctypes.memset(m.address, 0xA5, length)
                m.unmap()

    def test_processes_share_nothing(self):
        length = 64 * PAGE

        def child(n):
            def work(step):
                if step == 0:
                    work.m = Mapping(self.fd, length)
                    if work.m[0:length].count(0) != length:
                        raise AssertionError("not zeroed")
                    ctypes.memset(work.m.address, n, length)
                elif work.m[0:length].count(n) != length:
                    raise AssertionError("somebody else's bytes")
            return Child(work)

        children = [child(n) for n in range(1, 9)]
        for _ in range(3):
            for c in children:
                self.assertTrue(c.step())
        self.assertEqual(available(self.name), self.size - 8 * length)
        for c in children:
            self.assertEqual(c.end(), 0)

    def test_several_mappings_of_one_file(self):
        a, b = Mapping(self.fd, PAGE), Mapping(self.fd, PAGE)
        a.put(0, b"a" * PAGE)
        self.assertEqual(b[0:PAGE].count(0), PAGE)
        self.assertNotEqual(a.place(), b.place())
        a.unmap()
        b.unmap()

    def test_mapping_outlives_the_file(self):
        fd = opened(self.name)
        m = Mapping(fd, PAGE)
        os.close(fd)
        m.put(0, MAGIC)
        self.assertEqual(available(self.name), self.size - PAGE)
        m.unmap()

    def test_kill(self):
        def work(_step):
            m = Mapping(self.fd, self.size // 2)
            ctypes.memset(m.address, 1, 1 << 20)

        c = Child(work)
        self.assertTrue(c.step())
        self.assertEqual(available(self.name), self.size // 2)
        c.kill()
        self.assertEqual(available(self.name), self.size)

    def test_too_small(self):
        # ten lines in five seconds are logged: others may have used them up
        time.sleep(5)
        mark = log_mark("p2pmem test: too small")
        self.refused(errno.ENOMEM, self.size + PAGE)
        # the others' may be summed up before it
        lines = [line for line in log_since(mark) if "suppressed" not in line]
        self.assertEqual(len(lines), 1, lines)
        kib = self.size // 1024
        self.assertIn(f"mmap refused: {kib + 4} KiB in one piece wanted, "
                      f"{kib} of {kib} KiB are free", lines[0])
        self.refused(errno.ENOMEM, 1 << 40)
        half = Mapping(self.fd, self.size // 2)
        self.refused(errno.ENOMEM, self.size // 2 + PAGE)
        self.assertEqual(available(self.name), self.size // 2)
        rest = Mapping(self.fd, self.size // 2)
        self.assertEqual(available(self.name), 0)
        self.refused(errno.ENOMEM, PAGE)
        half.unmap()
        rest.unmap()

    def test_private_is_refused_in_one_line(self):
        mark = log_mark("p2pmem test: private")
        self.refused(errno.EINVAL, PAGE, flags=mmap.MAP_PRIVATE)
        lines = log_since(mark)
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("only MAP_SHARED", lines[0])

    def test_offset_is_refused(self):
        self.refused(errno.EINVAL, PAGE, offset=PAGE)

    def test_read_only_file(self):
        fd = opened(self.name, os.O_RDONLY)
        m = Mapping(fd, PAGE, prot=mmap.PROT_READ)
        self.assertEqual(m[0:PAGE].count(0), PAGE)
        self.assertEqual(libc.mprotect(m.address, PAGE, 3), -1)
        self.assertEqual(ctypes.get_errno(), errno.EACCES)
        m.unmap()
        with self.assertRaises(OSError):
            Mapping(fd, PAGE)
        os.close(fd)

    def test_partial_unmap_keeps_the_region(self):
        m = Mapping(self.fd, 8 * PAGE)
        m.put(7 * PAGE, MAGIC)
        m.unmap(0, PAGE)
        m.unmap(3 * PAGE, PAGE)
        self.assertEqual(available(self.name), self.size - 8 * PAGE)
        self.assertEqual(m[7 * PAGE:7 * PAGE + len(MAGIC)], MAGIC)
        m.unmap(0, 8 * PAGE)
        self.assertEqual(available(self.name), self.size)

    def test_mprotect_splits(self):
        m = Mapping(self.fd, 8 * PAGE)
        self.assertEqual(libc.mprotect(m.address + 2 * PAGE, PAGE, 1), 0)
        self.assertEqual(libc.mprotect(m.address + 2 * PAGE, PAGE, 3), 0)
        m.put(2 * PAGE, MAGIC)
        m.unmap()

    def test_mremap_is_refused(self):
        m = Mapping(self.fd, 4 * PAGE)
        m.put(PAGE, MAGIC)
        other = Mapping(-1, 8 * PAGE,
                        flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        maymove, fixed = 1, 2
        arg = [ctypes.c_void_p(m.address), ctypes.c_size_t(4 * PAGE)]
        for old, new, flags in ((4 * PAGE, 8 * PAGE, maymove),
                                (4 * PAGE, 4 * PAGE, maymove | fixed),
                                (0, 4 * PAGE, maymove)):
            arg[1] = ctypes.c_size_t(old)
            ret = libc.mremap(*arg, ctypes.c_size_t(new), flags,
                              ctypes.c_void_p(other.address))
            self.assertEqual(ret, ctypes.c_void_p(-1).value)
        self.assertEqual(m[PAGE:PAGE + len(MAGIC)], MAGIC)
        m.unmap()
        other.unmap()

    def test_dontneed_brings_the_bytes_back(self):
        m = Mapping(self.fd, 4 * PAGE)
        m.put(PAGE, MAGIC)
        self.assertEqual(libc.madvise(m.address, 4 * PAGE, 4), 0)
        self.assertEqual(m[PAGE:PAGE + len(MAGIC)], MAGIC)
        m.put(2 * PAGE, MAGIC)
        m.unmap()

    def test_msync_is_accepted(self):
        m = Mapping(self.fd, 4 * PAGE)
        self.assertEqual(libc.msync(m.address, 4 * PAGE, 4), 0)
        m.unmap()

    def test_fork_shares(self):
        m = Mapping(self.fd, 2 * PAGE)

        def work(step):
            if step == 0:
                m.put(0, MAGIC)
            else:
                m.put(PAGE, MAGIC)

        c = Child(work)
        self.assertTrue(c.step())
        self.assertEqual(m[0:len(MAGIC)], MAGIC)
        m.unmap()
        self.assertEqual(available(self.name), self.size - 2 * PAGE)
        self.assertTrue(c.step())
        self.assertEqual(c.end(), 0)
        self.assertEqual(available(self.name), self.size)

    def test_direct_io_pins(self):
        """A pin that the kernel has on a page while it reads into it."""
        path = "/tmp/p2pmem-direct"
        with open(path, "wb") as f:
            f.write(b"d" * (16 * PAGE))
        m = Mapping(self.fd, 16 * PAGE)
        view = (ctypes.c_char * (16 * PAGE)).from_address(m.address)
        try:
            fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
        except OSError:
            m.unmap()
            self.skipTest("/tmp knows no O_DIRECT")
        try:
            os.readv(fd, [view])
            self.assertEqual(m[0:16 * PAGE].count(b"d"), 16 * PAGE)
        except OSError as e:
            # pages of type PCI_P2PDMA are refused by most of the kernel
            self.assertTrue(p2pdma(self.bdf), e)
            self.assertIn(e.errno, (errno.EREMOTEIO, errno.EFAULT))
        os.close(fd)
        del view
        m.unmap()
        self.assertTrue(wait_for(lambda: available(self.name) == self.size))

    def test_many_rounds(self):
        rnd = random.Random(1)
        live, used = [], 0
        for _ in range(int(os.environ.get("ROUNDS", "2000"))):
            if live and rnd.random() < 0.5:
                m, n = live.pop(rnd.randrange(len(live)))
                self.assertEqual(m[0:8], n.to_bytes(8, "little"))
                m.unmap()
                used -= m.length
            else:
                length = PAGE * int(2 ** rnd.uniform(0, 11))
                try:
                    m = Mapping(self.fd, length)
                except OSError as e:
                    self.assertEqual(e.errno, errno.ENOMEM)
                    continue
                n = rnd.getrandbits(64)
                self.assertEqual(m[0:8], bytes(8))
                self.assertEqual(m[length - 8:length], bytes(8))
                m.put(0, n.to_bytes(8, "little"))
                m.put(length - 8, n.to_bytes(8, "little"))
                live.append((m, n))
                used += length
            self.assertEqual(available(self.name), self.size - used)
        for m, n in live:
            self.assertEqual(m[0:8], n.to_bytes(8, "little"))
            m.unmap()

    def test_many_processes(self):
        def child():
            rnd = randomness()
            fd = opened(self.name)
            for _ in range(100):
                length = PAGE * rnd.randint(1, 64)
                m = Mapping(fd, length)
                m.check_own(rnd.randint(1, 255))
                m.unmap()

        pids = [fork(child) for _ in range(4)]
        self.assertEqual([reap(p) for p in pids], [0] * 4)


if __name__ == "__main__":
    main("p2pmem_bar")
