#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Regions as dma-bufs: for programs, for a driver that imports them, and for
RDMA. Donors: bar, bar@root."""

import errno
import fcntl
import os
import struct
import subprocess
import threading
import time

from p2pmem_guest import (IVSHMEM, PAGE, PCI, Mapping, Taker, available, bar_address, bind,
                          fork, log_mark, log_since, main, opened, p2pdma, pci_functions, race,
                          reap, set_attr, statistic, unbind, wait_for, write)
from p2pmem_ioctl import alloc, close, distance, export, region_info
from p2pmem_rdma import Rdma, rdmanode
from p2pmem_take import Taking
from p2pmem_unplug import touch

from pyverbs.mr import DmaBufMR
from pyverbs.pyverbs_error import PyverbsRDMAError

MAGIC = b"p2pmem dma-buf: "
STATIC, NO_P2P, DEAF, LOW = 1, 2, 4, 8


class Importer:
    """/dev/p2pmem_importer of tests/kunit/p2pmem_importer.c."""

    def __init__(self, buf, bdf, flags=0):
        self.fd = os.open("/dev/p2pmem_importer", os.O_RDWR | os.O_CLOEXEC)
        domain, bus, rest = bdf.split(":")
        device, function = rest.split(".")
        try:
            fcntl.ioctl(self.fd, 0x4014BC90, struct.pack(
                "iIIII", buf, int(domain, 16), int(bus, 16),
                int(device, 16) << 3 | int(function), flags))
        except OSError:
            os.close(self.fd)
            raise

    def pin(self):
        fcntl.ioctl(self.fd, 0xBC91)

    def unpin(self):
        fcntl.ioctl(self.fd, 0xBC92)

    def map(self):
        """(address, size, entries, entries with a page)"""
        return struct.unpack("QQII", fcntl.ioctl(self.fd, 0x8018BC93, bytes(24)))

    def unmap(self):
        fcntl.ioctl(self.fd, 0xBC94)

    def word(self):
        """The first 8 bytes, as the CPU sees them."""
        return fcntl.ioctl(self.fd, 0x8008BC95, bytes(8))

    def vmap(self):
        fcntl.ioctl(self.fd, 0xBC9A)

    def notified(self):
        return fcntl.ioctl(self.fd, 0xBC96)

    def fence(self):
        """DMA is under way until signal()."""
        fcntl.ioctl(self.fd, 0xBC98)

    def signal(self):
        fcntl.ioctl(self.fd, 0xBC99)

    def cpu_access(self):
        fcntl.ioctl(self.fd, 0xBC97)

    def close(self):
        os.close(self.fd)


class BufferTest(Taking):
    """For programs."""

    def test_the_same_bytes(self):
        region = alloc(self.fd, 4 * PAGE)
        buf, part = export(region), export(region, PAGE, 2 * PAGE)
        self.assertEqual(os.lseek(buf, 0, os.SEEK_END), 4 * PAGE)
        self.assertEqual(os.lseek(part, 0, os.SEEK_END), 2 * PAGE)
        m, a, b = Mapping(region, 4 * PAGE), Mapping(buf, 4 * PAGE), Mapping(part, 2 * PAGE)
        a.put(2 * PAGE, MAGIC)
        self.assertEqual(m[2 * PAGE:2 * PAGE + len(MAGIC)], MAGIC)
        self.assertEqual(b[PAGE:PAGE + len(MAGIC)], MAGIC)
        c = Mapping(part, PAGE, offset=PAGE)
        self.assertEqual(c[0:len(MAGIC)], MAGIC)
        for fd, offset, length in ((part, 0, 3 * PAGE), (part, PAGE, 2 * PAGE),
                                   (part, 2 * PAGE, PAGE), (buf, 0, 5 * PAGE),
                                   (part, (1 << 62), PAGE)):
            self.fails(errno.EINVAL, Mapping, fd, length, offset=offset)
        self.fails(errno.EINVAL, Mapping, buf, PAGE, flags=2)
        for i in (m, a, b, c):
            i.unmap()
        close(region, buf, part)

    def test_keeps_the_memory(self):
        region = alloc(self.fd, 4 * PAGE)
        part = export(region, PAGE, PAGE)
        os.close(region)
        self.used(4 * PAGE)
        m = Mapping(part, PAGE)
        os.close(part)
        m.put(0, MAGIC)
        self.used(4 * PAGE)
        m.unmap()
        self.used(0)

    def test_persistent_places(self):
        os.close(self.fd)
        unbind(self.bdf)
        write("/sys/module/p2pmem_bar/parameters/persistent", "1")
        self.name = bind(self.bdf)
        self.fd = opened(self.name)
        region = alloc(self.fd, 2 * PAGE, offset=7 * PAGE)
        buf = export(region, PAGE)
        m, place = Mapping(buf, PAGE), Mapping(self.fd, PAGE, offset=8 * PAGE)
        m.put(0, MAGIC)
        self.assertEqual(place[0:len(MAGIC)], MAGIC)
        m.unmap()
        place.unmap()
        close(region, buf)


class ImportTest(Taking):
    """For a driver of another device: one on a root port of its own."""

    def setUp(self):
        super().setUp()
        self.client = pci_functions(IVSHMEM)[1]
        self.region = alloc(self.fd, 8 * PAGE)
        self.place = region_info(self.region)[1]
        self.buf = export(self.region, 2 * PAGE, 4 * PAGE)

    def tearDown(self):
        close(self.region, self.buf)
        super().tearDown()

    def peers(self):
        """Can the two reach each other, by the rules of this kernel? Stock kernels
        have none, others refuse two root ports."""
        return not p2pdma(self.bdf) or distance(self.region, self.client)[0] < 2

    def test_map(self):
        i = Importer(self.buf, self.client)
        if not self.peers():
            self.fails(errno.EREMOTEIO, i.map)
            i.close()
            i = Importer(self.buf, self.bdf)
        for _ in range(2):
            address, size, entries, pages = i.map()
            self.assertEqual((address, size, entries),
                             (bar_address(self.bdf) + self.place + 2 * PAGE, 4 * PAGE, 1))
            if not p2pdma(self.bdf):
                self.assertEqual(pages, 0)
            i.unmap()
        i.map()
        i.close()

    def test_beyond_a_devices_mask(self):
        """One with too few address lines: an error, no warning of the DMA layer's."""
        self.assertGreater(bar_address(self.bdf), 1 << 31)
        i = Importer(self.buf, self.client, LOW)
        # where a switch passes it on, the PCI layer doesn't ask for the mask
        if not p2pdma(self.bdf) or not self.peers():
            mark = log_mark("p2pmem test: mask")
            self.fails(errno.EREMOTEIO, i.map)
            if not p2pdma(self.bdf):
                self.assertIn(f"no DMA mapping for {self.client}", " ".join(log_since(mark)))
        i.close()
        i = Importer(self.buf, self.bdf)
        i.map()
        i.close()

    def test_cpu(self):
        m = Mapping(self.buf, PAGE)
        m.put(0, MAGIC)
        i = Importer(self.buf, self.client)
        self.assertEqual(i.word(), MAGIC[:8])
        # not where the kernel would give it to who can't be told
        self.fails(errno.EINVAL, i.vmap)
        i.pin()
        self.fails(errno.EINVAL, i.vmap)
        i.cpu_access()
        i.close()
        m.unmap()

    def test_the_mode_is_the_importers_too(self):
        for mode in (os.O_RDONLY, os.O_WRONLY):
            fd = opened(self.name, mode)
            region = alloc(fd, PAGE)
            buf = export(region)
            i = Importer(buf, self.bdf)
            # for both directions
            self.fails(errno.EACCES, i.map)
            i.close()
            close(buf, region, fd)

    def test_who_can_not_be_told_is_not_let_in(self):
        for flags, words in ((STATIC, "can't be told"), (NO_P2P, "doesn't take memory")):
            time.sleep(0.1)
            mark = log_mark(f"p2pmem test: importer {flags}")
            self.fails(errno.EOPNOTSUPP, Importer, self.buf, self.client, flags)
            self.assertIn(words, " ".join(log_since(mark)))

    def test_keeps_the_memory(self):
        i = Importer(self.buf, self.bdf)
        os.close(self.buf)
        os.close(self.region)
        self.used(8 * PAGE)
        i.map()
        i.close()
        self.used(0)
        self.region, self.buf = opened(self.name), opened(self.name)

    def test_departure(self):
        i = Importer(self.buf, self.bdf)
        idle = Importer(self.buf, self.client)
        i.pin()
        i.map()
        unbind(self.bdf)
        for n in (i, idle):
            self.assertEqual(n.notified(), 1)
            self.fails(errno.ENODEV, n.map)
            self.fails(errno.ENODEV, n.pin)
            self.fails(errno.ENODEV, n.cpu_access)
        self.fails(errno.ENODEV, idle.word)
        self.fails(errno.ENODEV, i.word)
        self.fails(errno.ENODEV, Importer, self.buf, self.client)
        self.fails(errno.ENODEV, Mapping, self.buf, PAGE)
        # the donor comes back: these are still dead
        self.assertEqual(bind(self.bdf), self.name)
        self.used(0)
        self.fails(errno.ENODEV, i.map)
        i.unpin()
        i.close()
        idle.close()

    def test_a_stricter_level(self):
        """It is told, gets nothing more, and isn't waited for; who is near stays."""
        far, near = Importer(self.buf, self.client, DEAF), Importer(self.buf, self.bdf)
        if self.peers():
            far.map()
        far.pin()
        near.pin()
        near.map()
        set_attr(self.name, "level", "function")
        self.assertEqual((far.notified(), near.notified()), (1, 0))
        self.fails(errno.EPERM, far.pin)
        self.fails(errno.EPERM, Importer, self.buf, self.client)
        # back again: what is dead stays so
        set_attr(self.name, "level", "any")
        self.fails(errno.EPERM, far.pin)
        if self.peers():
            far.unmap()
        self.fails(errno.EPERM, far.map)
        self.assertEqual(near.word(), bytes(8))
        near.unmap()
        near.map()
        late = Importer(self.buf, self.client)
        for i in (far, near, late):
            i.close()

    def test_dma_under_way_is_waited_for(self):
        """By a stricter level, and by the donor; nobody else waits for it."""
        taker, m = Taker(), Mapping(self.region, PAGE)
        for how, code in ((lambda: set_attr(self.name, "level", "function"), errno.EPERM),
                          (lambda: unbind(self.bdf), errno.ENODEV)):
            taker.client(self.client)
            h = taker.hold(m.address, PAGE)
            i = Importer(self.buf, self.client)
            i.fence()
            t = threading.Thread(target=how)
            t.start()
            self.assertTrue(wait_for(i.notified))
            self.comes_to(code, i.pin)
            self.comes_to(errno.EIO, taker.read, h, 0)
            t.join(0.3)
            self.assertTrue(t.is_alive())
            i.signal()
            t.join(10)
            self.assertFalse(t.is_alive())
            taker.put(h)
            i.close()
            if code == errno.EPERM:
                set_attr(self.name, "level", "any")
        m.unmap()
        taker.close()

    def comes_to(self, code, what, *args):
        """Sooner or later it fails so."""
        def fails():
            try:
                what(*args)
            except OSError as e:
                return e.errno == code
            return False

        self.assertTrue(wait_for(fails))

    def test_the_donor_waits_for_the_deaf_and_names_them(self):
        i = Importer(self.buf, self.bdf, DEAF)
        i.pin()
        i.map()
        m, buf = Mapping(self.buf, PAGE), export(self.region)
        other = Importer(buf, self.bdf)
        other.pin()
        other.map()
        taker = Taker()
        h = taker.hold(m.address, PAGE)
        mark = log_mark("p2pmem test: deaf")
        t = threading.Thread(target=unbind, args=(self.bdf,))
        t.start()
        self.assertTrue(wait_for(lambda: any(
            self.bdf in line and "16 KiB pinned and mapped" in line
            for line in log_since(mark)), 30))
        self.assertTrue(t.is_alive())
        self.fails(errno.ENODEV, export, self.region)
        # nobody else waits for it: keys are dead, mappings are empty, puts return
        self.assertEqual((i.notified(), other.notified()), (1, 1))
        self.fails(errno.EIO, taker.read, h, 0)
        self.assertTrue(touch(m.address))
        m.unmap()
        other.close()
        os.close(buf)
        taker.put(h)
        i.unmap()
        t.join(10)
        self.assertFalse(t.is_alive())
        i.close()
        taker.close()

    def test_killed_importers_leave_nothing(self):
        def child():
            buf = export(alloc(self.fd, 4 * PAGE))
            for _ in range(3):
                i = Importer(buf, self.bdf)
                i.pin()
                i.map()
            os.kill(os.getpid(), 9)

        self.assertEqual(reap(fork(child)), -9)
        self.assertTrue(wait_for(lambda: available(self.name) == self.size - 8 * PAGE))

    def test_importers_against_unbind(self):
        def child(on, got):
            gone = (errno.ENODEV, errno.ENOENT, errno.ENXIO)
            while on():
                fds, imports = [], []
                try:
                    fds.append(opened(self.name))
                    fds.append(alloc(fds[0], 4 * PAGE))
                    fds.append(export(fds[1]))
                    for _ in range(2):
                        imports.append(Importer(fds[2], self.bdf))
                        imports[-1].pin()
                        imports[-1].map()
                        imports[-1].word()
                        got()
                except OSError as e:
                    if e.errno not in gone:
                        raise
                for i in imports:
                    i.close()
                close(*fds)

        race(self.bdf, child, processes=3)


class RdmaTest(Rdma):
    """ibv_reg_dmabuf_mr() over one, and ibv_reg_mr() of a region's mapping."""

    def test_dmabuf_mr(self):
        region = alloc(self.fd, 4 * PAGE)
        buf = export(region, PAGE, 2 * PAGE)
        m = Mapping(region, PAGE, offset=2 * PAGE)
        mr = DmaBufMR(self.node.pds["pd"], PAGE, rdmanode.ALL, buf, PAGE)
        close(region, buf)
        self.exchange(mr.rkey, PAGE, m)
        # WRITE, READ, two atomics: the donor's figures have them all
        self.assertEqual([statistic(self.name, f"bytes_{i}") for i in ("in", "out")],
                         [len(MAGIC) + 2 * 8] * 2)
        m.unmap()
        self.used(4 * PAGE)
        mr.close()
        self.used(0)

    def test_mr_of_a_mapping(self):
        """Of the region's file, and of its dma-buf: both are holds."""
        region = alloc(self.fd, 4 * PAGE)
        buf = export(region, PAGE)
        for fd in (region, buf):
            m = Mapping(fd, 2 * PAGE, offset=PAGE)
            mr = rdmanode.MR(self.node.pds["pd"], PAGE, rdmanode.ALL, address=m.address)
            self.exchange(mr.rkey, m.address, m)
            mr.close()
            m.unmap()
        close(region, buf)

    def test_a_read_only_buffer(self):
        fd = opened(self.name, os.O_RDONLY)
        region = alloc(fd, PAGE)
        buf = export(region)
        with self.assertRaises(PyverbsRDMAError) as e:
            DmaBufMR(self.node.pds["pd"], PAGE, rdmanode.ALL, buf, 0)
        self.assertEqual(e.exception.error_code, errno.EACCES)
        DmaBufMR(self.node.pds["pd"], PAGE, rdmanode.READ, buf, 0).close()
        close(buf, region, fd)
        # who can't read can't have a key to read by, and each key is one
        fd = opened(self.name, os.O_WRONLY)
        region = alloc(fd, PAGE)
        buf = export(region)
        for access in (rdmanode.READ, rdmanode.ALL):
            with self.assertRaises(PyverbsRDMAError) as e:
                DmaBufMR(self.node.pds["pd"], PAGE, access, buf, 0)
            self.assertEqual(e.exception.error_code, errno.EACCES)
        close(buf, region, fd)

    def test_unbind_while_registered(self):
        """Both kinds: the key is dead at once, the rest of the memory isn't touched."""
        region = alloc(self.fd, 2 * PAGE)
        buf, m = export(region), Mapping(region, PAGE)
        mrs = [(0, DmaBufMR(self.node.pds["pd"], PAGE, rdmanode.ALL, buf, 0)),
               (m.address, rdmanode.MR(self.node.pds["pd"], PAGE, rdmanode.ALL,
                                       address=m.address))]
        for at, mr in mrs:
            self.exchange(mr.rkey, at, m)
        early = Importer(buf, self.bdf)
        early.pin()
        early.word()
        start = time.monotonic()
        unbind(self.bdf)
        self.assertLess(time.monotonic() - start, 5)
        # the address that the key was made with is no good to anybody
        for call, code in ((early.word, errno.ENODEV), (early.vmap, errno.EINVAL)):
            with self.assertRaises(OSError) as e:
                call()
            self.assertEqual(e.exception.errno, code)
        early.close()
        with self.assertRaises(PyverbsRDMAError) as e:
            DmaBufMR(self.node.pds["pd"], PAGE, rdmanode.ALL, buf, 0)
        self.assertEqual(e.exception.error_code, errno.ENODEV)
        for at, mr in mrs:
            self.dead("READ", at, mr.rkey)
        # the donor comes back, the old keys stay dead
        self.assertEqual(bind(self.bdf), self.name)
        for at, mr in mrs:
            self.dead("WRITE", at, mr.rkey)
            mr.close()
        m.unmap()
        close(buf, region)
        self.used(0)

    def test_unbind_under_fire(self):
        self.under_fire(lambda: unbind(self.bdf))

    def test_remove_under_fire(self):
        bridge = os.path.realpath(PCI + self.bdf + "/..")
        self.under_fire(lambda: write(PCI + self.bdf + "/remove", "1"))
        write(bridge + "/rescan", "1")
        self.assertTrue(wait_for(lambda: os.path.exists(PCI + self.bdf)))
        self.assertEqual(bind(self.bdf), self.name)
        self.used(0)

    def test_rmmod_under_fire(self):
        self.under_fire(lambda: subprocess.run(["rmmod", "p2pmem_bar"], check=True))
        subprocess.run(["modprobe", "p2pmem_bar"], check=True)


if __name__ == "__main__":
    main("p2pmem_bar", "p2pmem_taker", "p2pmem_importer", "srnic", "ib_uverbs")
