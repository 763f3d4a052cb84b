#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Memory that another driver has published: the kernel's nvme driver a CMB, and
p2pmem_publisher a BAR. Donors: pmr:16M, cmb:8M, both:16M, nvme, drive; bar, bar."""

import errno
import glob
import mmap
import os
import subprocess
import threading
import time
import unittest

from p2pmem_block import Reader, Window, content, disk_of, put
from p2pmem_dmabuf import Importer, bar_address
from p2pmem_guest import (CLASS, IVSHMEM, NVME, PAGE, PCI, Bar, Mapping, Taker, attach, attr,
                          available, bind, detach, donation, donations, fork, log_mark,
                          log_since, main, opened, pci_functions, randomness, read, reap, set_attr,
                          statistic, unbind, wait_for, write)
from p2pmem_ioctl import alloc, call, close, export, region_info
from p2pmem_rdma import Rdma, rdmanode
from p2pmem_unplug import touch

from pyverbs.mr import MR

ADOPT = "/sys/module/p2pmem/parameters/adopt"
PUBLISHER = "/sys/module/p2pmem_publisher/parameters/"
MODULES = "srnic", "p2pmem_bar", "p2pmem_nvme", "p2pmem_taker", "p2pmem_importer"
MIB = 1 << 20


def layer(bdf, what):
    """What the PCI layer says of a function's memory."""
    return int(read(f"{PCI}{bdf}/p2pmem/{what}"))


class Adopted(Rdma):
    """A device whose donor knows nothing of it; nothing may be left of it."""

    driver = "nvme"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        _, cls.cmb, cls.both, _, cls.drive = pci_functions(NVME)

    def donor(self):
        if not donations(self.cmb):
            attach("nvme", self.cmb)
        return self.cmb, donation(self.cmb)

    def tearDown(self):
        super().tearDown()
        if donations(self.bdf):
            self.assertEqual((available(self.name), layer(self.bdf, "available")),
                             (self.free, self.free))

    def used(self, size):
        super().used(size)
        self.assertEqual(layer(self.bdf, "available"), self.free - size)

    def leave(self):
        detach(self.bdf)

    def come(self):
        self.name, = attach(self.driver, self.bdf)

    def mr(self, m, length):
        return MR(self.node.pds["pd"], length, rdmanode.ALL, address=m.address)

    def departs(self, leave):
        """The donor goes while all sorts of users have its memory."""
        disk = os.open(disk_of(self.drive), os.O_RDWR | os.O_DIRECT)
        m, w, region = Mapping(self.fd, 4 * PAGE), Window(self.fd, PAGE), alloc(self.fd, PAGE)
        buf = export(region)
        importer = Importer(buf, self.drive)
        importer.pin()
        importer.map()
        mr, at = self.mr(m, PAGE), m.address
        self.exchange(mr.rkey, at, m)
        reader = Reader(disk, w)
        start = time.monotonic()
        leave()
        self.assertLess(time.monotonic() - start, 5)
        self.assertEqual(donations(self.bdf), [])
        self.assertTrue(touch(at))
        self.fails(errno.ENODEV, Mapping, self.fd, PAGE)
        self.fails(errno.ENODEV, region_info, region)
        self.fails(errno.ENODEV, call, self.fd, "info", *[0] * 9)
        self.fails(errno.ENODEV, importer.map)
        self.dead("READ", at, mr.rkey)
        self.assertTrue(reader.ended())
        importer.unpin()
        importer.close()
        return lambda: (self.dead("WRITE", at, mr.rkey), mr.close(), m.unmap(), w.close(),
                        close(disk, buf, region))


class NvmeTest(Adopted):
    def test_what_appears(self):
        for bdf, mib in ((self.cmb, 8), (self.both, 4)):
            if not donations(bdf):
                attach("nvme", bdf)
            name, = donations(bdf)
            self.assertEqual((attr(name, "size"), attr(name, "kind"), attr(name, "persistent")),
                             (str(mib * MIB), "cmb", "0"))
            # the driver has its queues there
            self.assertLess(available(name), mib * MIB)
            self.assertEqual(available(name), layer(bdf, "available"))
            self.assertEqual(layer(bdf, "published"), 1)
            self.assertTrue(os.path.exists("/dev/" + name))

    def test_who_asks_is_told_what_is_free(self):
        size, free = call(self.fd, "info", *[0] * 9)[:2]
        self.assertEqual((size, free), (8 * MIB, self.free))
        region = alloc(self.fd, PAGE)
        self.assertEqual(region_info(region)[2], self.free - PAGE)
        os.close(region)

    def test_own_donors_are_not_adopted(self):
        bar = pci_functions(IVSHMEM)[0]
        bind(bar)
        attach("p2pmem_nvme", self.both)
        write(ADOPT, "1")
        self.assertEqual(len(donations(bar)), 1)
        self.assertEqual(sorted(attr(i, "kind") for i in donations(self.both)), ["cmb", "pmr"])
        unbind(bar)
        attach("nvme", self.both)
        self.assertEqual(len(donations(self.both)), 1)

    def test_one_pool_with_others(self):
        theirs = os.open(PCI + self.bdf + "/p2pmem/allocate", os.O_RDWR)
        a, b = Mapping(self.fd, 4 * PAGE), Mapping(theirs, 3 * PAGE)
        self.used(7 * PAGE)
        c = Mapping(self.fd, 5 * PAGE)
        self.used(12 * PAGE)
        for m, byte in ((a, b"a"), (b, b"b"), (c, b"c")):
            m.put(0, byte * m.length)
        for m, byte in ((a, b"a"), (b, b"b"), (c, b"c")):
            self.assertEqual(m[0:m.length], byte * m.length)
        place = a.place()
        self.assertTrue(Bar(self.bdf, 2).map[place:place + PAGE] == b"a" * PAGE)
        for m in (a, b, c):
            m.unmap()
        self.used(0)
        # whosever bytes were there
        m = Mapping(self.fd, 12 * PAGE)
        self.assertEqual(m[0:12 * PAGE].count(0), 12 * PAGE)
        m.unmap()
        os.close(theirs)

    def test_two_programs(self):
        def child():
            rnd = randomness()
            fd = opened(self.name)
            for _ in range(20):
                size = PAGE * rnd.randint(1, 8)
                m = Mapping(fd, size)
                m.check_own(rnd.randint(1, 255))
                m.unmap()

        self.assertEqual([reap(p) for p in [fork(child) for _ in range(3)]], [0] * 3)
        self.used(0)

    def test_nothing_is_left(self):
        """Others have it all: that is said, also of a device that comes so late."""
        theirs = os.open(PCI + self.bdf + "/p2pmem/allocate", os.O_RDWR)
        maps, size = [], self.free
        while size:
            try:
                maps.append(Mapping(theirs, size))
            except OSError:
                size = size // 2 & -PAGE
        full = statistic(self.name, "full")
        mark = log_mark("p2pmem test: full")
        self.fails(errno.ENOMEM, Mapping, self.fd, PAGE)
        self.used(self.free)
        self.assertEqual(statistic(self.name, "full"), full + 1)
        self.assertIn("4 KiB in one piece wanted, 0 of 8192 KiB are free",
                      " ".join(log_since(mark)))
        write(ADOPT, "0")
        write(ADOPT, "1")
        self.name, = donations(self.bdf)
        self.used(self.free)
        for m in maps:
            m.unmap()
        os.close(theirs)
        os.close(self.fd)
        self.fd = opened(self.name)
        Mapping(self.fd, PAGE).unmap()
        self.used(0)

    def test_rdma(self):
        m = Mapping(self.fd, 4 * PAGE)
        place, at = m.place(), m.address
        mr = self.mr(m, 4 * PAGE)
        self.exchange(mr.rkey, at, m)
        self.assertEqual(Bar(self.bdf, 2).map[place:place + 24], m[0:24])
        # the key keeps the memory
        m.unmap()
        self.used(4 * PAGE)
        self.ask("READ", at, mr.rkey)
        mr.close()
        self.used(0)

    def test_a_drive(self):
        """From the drive into the CMB, and from there to another place of it."""
        disk = os.open(disk_of(self.drive), os.O_RDWR | os.O_DIRECT)
        data = os.urandom(8 * PAGE)
        put(disk, 0, data)
        put(disk, MIB, bytes(8 * PAGE))
        w = Window(self.fd, 8 * PAGE)
        self.assertEqual(w.read(disk, 0, 8 * PAGE), 8 * PAGE)
        self.assertTrue(w.map[:] == data)
        self.assertEqual(w.write(disk, MIB, 8 * PAGE), 8 * PAGE)
        self.assertTrue(content(disk, MIB, 8 * PAGE) == data)
        w.close()
        os.close(disk)
        self.used(0)

    def test_dmabuf(self):
        region = alloc(self.fd, 2 * PAGE)
        buf = export(region, PAGE)
        m = Mapping(region, PAGE)
        importer = Importer(buf, self.drive)
        self.assertEqual(importer.map()[:3],
                         (bar_address(self.bdf) + m.place() + PAGE, PAGE, 1))
        m.unmap()
        os.close(region)
        importer.unmap()
        importer.close()
        self.used(2 * PAGE)
        os.close(buf)
        self.used(0)

    def test_kernel_code(self):
        """It is found, has a place, and its level counts."""
        taker = Taker()
        self.assertEqual(taker.find(self.bdf, size=self.free), self.name)
        self.assertNotEqual(taker.find(self.bdf, size=self.free + PAGE), self.name)
        self.assertEqual(taker.find(self.bdf), self.name)
        h = taker.alloc(2 * PAGE)
        taker.write(h, 8, 4711)
        self.assertEqual(taker.sgt(h, 8), 4711)
        self.used(2 * PAGE)
        m = Mapping(self.fd, PAGE)
        taker.client(self.drive)
        other = taker.hold(m.address, PAGE)
        set_attr(self.name, "level", "function")
        self.fails(errno.EIO, taker.read, other, 0)
        self.fails(errno.EPERM, taker.hold, m.address, PAGE)
        self.assertEqual(taker.read(h, 8), 4711)
        set_attr(self.name, "level", "any")
        taker.put(other)
        taker.put(h)
        m.unmap()
        taker.close()
        self.used(0)

    def test_unbind(self):
        clean = self.departs(self.leave)
        self.come()
        self.used(0)
        clean()
        self.used(0)

    def test_hot_unplug(self):
        bridge = os.path.realpath(PCI + self.bdf + "/..")
        clean = self.departs(lambda: write(PCI + self.bdf + "/remove", "1"))
        clean()
        write(bridge + "/rescan", "1")
        self.assertTrue(wait_for(lambda: os.path.exists(PCI + self.bdf)))
        self.assertTrue(wait_for(lambda: donations(self.bdf), 20))
        self.name, = donations(self.bdf)
        self.used(0)

    def test_unbind_under_fire(self):
        self.under_fire(self.leave)
        self.come()

    def test_switched_off(self):
        """The parameter takes it away, and brings it back; its driver sees none of it."""
        clean = self.departs(lambda: write(ADOPT, "0"))
        self.assertEqual(read(ADOPT), "N")
        self.assertTrue(wait_for(lambda: layer(self.bdf, "available") == self.free, 5))
        # who binds now isn't adopted either
        attach("nvme", self.bdf)
        self.assertEqual((donations(self.bdf), layer(self.bdf, "published")), ([], 1))
        for word in ("2", "maybe", ""):
            self.fails(errno.EINVAL, write, ADOPT, word + "\n")
        for _ in range(2):
            write(ADOPT, "1")
            self.name, = donations(self.bdf)
        clean()
        self.used(0)

    def pinned(self, taker):
        """A mapping of which a driver has pinned the second page."""
        m = Mapping(self.fd, 4 * PAGE)
        taker.pin(m.address + PAGE)
        self.addCleanup(taker.close)
        return m

    def test_a_pin_at_unbind(self):
        """Its driver isn't kept waiting for it, but the kernel itself is, afterwards."""
        taker, mark = Taker(), log_mark("p2pmem test: a pin at unbind")
        m = self.pinned(taker)
        leaving = threading.Thread(target=self.leave)
        leaving.start()
        self.assertTrue(wait_for(lambda: not donations(self.bdf), 5))
        self.assertTrue(touch(m.address))
        # the driver's own device: gone by its remove()
        self.assertTrue(wait_for(lambda: not glob.glob(PCI + self.bdf + "/nvme/nvme*"), 5))
        self.fails(errno.ENODEV, Mapping, self.fd, PAGE)
        self.assertTrue(wait_for(lambda: any("1 pages are still pinned" in i
                                             for i in log_since(mark)), 30))
        self.assertTrue(leaving.is_alive())
        # of others nobody is kept from anything
        attach("nvme", self.both)
        taker.unpin()
        leaving.join(10)
        self.assertFalse(leaving.is_alive())
        m.unmap()
        self.come()
        self.used(0)

    def test_a_pin_when_switched_off(self):
        """Nobody waits for it, not even the next adoption."""
        taker = Taker()
        m = self.pinned(taker)
        writer = threading.Thread(target=write, args=(ADOPT, "0"))
        writer.start()
        writer.join(5)
        self.assertFalse(writer.is_alive())
        self.assertEqual(donations(self.bdf), [])
        self.assertTrue(touch(m.address))
        write(ADOPT, "1")
        self.name, = donations(self.bdf)
        os.close(self.fd)
        self.fd = opened(self.name)
        # all four pages: they were taken together
        self.used(4 * PAGE)
        Mapping(self.fd, PAGE).unmap()
        taker.unpin()
        self.assertTrue(wait_for(lambda: layer(self.bdf, "available") == self.free, 5))
        m.unmap()

    def test_comes_and_goes(self):
        """Programs at work while the driver binds and unbinds."""
        over = mmap.mmap(-1, PAGE)

        def child():
            while not over[0]:
                for name in donations(self.bdf):
                    try:
                        fd = opened(name)
                    except OSError:
                        continue
                    try:
                        m = Mapping(fd, 8 * PAGE)
                        pid = fork(lambda m=m: m.put(0, bytes(8 * PAGE)))
                        assert reap(pid) in (0, -7)
                        m.unmap()
                    except OSError as e:
                        if e.errno != errno.ENODEV:
                            raise
                    os.close(fd)

        pids = [fork(child) for _ in range(2)]
        for _ in range(2):
            self.leave()
            self.come()
            write(ADOPT, "0")
            write(ADOPT, "1")
        over[0] = 1
        self.assertEqual([reap(p) for p in pids], [0] * 2)
        self.name, = donations(self.bdf)
        self.used(0)


class PublisherTest(Adopted):
    """A module that isn't ours has published a BAR."""

    driver = "p2pmem_publisher"

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        subprocess.run(["rmmod", cls.driver], check=True)

    def donor(self):
        subprocess.run(["modprobe", "-a", self.driver], check=True)
        for name, value in (("hidden", "0"), ("half", "0"), ("pieces", "1")):
            write(PUBLISHER + name, value)
        bdf = pci_functions(IVSHMEM)[1]
        self.name, = attach(self.driver, bdf)
        return bdf, self.name

    def tearDown(self):
        super().tearDown()
        if os.path.exists(PCI + self.bdf + "/driver"):
            detach(self.bdf)

    def test_what_appears(self):
        self.assertEqual((attr(self.name, "size"), attr(self.name, "kind")),
                         (str(16 * MIB), "bar"))
        self.assertEqual(self.free, self.size)
        m = Mapping(self.fd, self.size)
        self.used(self.size)
        m.unmap()

    def test_rmmod(self):
        clean = self.departs(lambda: subprocess.run(["rmmod", self.driver], check=True))
        subprocess.run(["modprobe", self.driver], check=True)
        self.come()
        clean()
        self.used(0)

    def test_published_late(self):
        """Nobody tells us of it: who wants to know has to ask."""
        self.leave()
        write(PUBLISHER + "hidden", "1")
        self.assertEqual(attach(self.driver, self.bdf), [])
        write(ADOPT, "1")
        self.assertEqual(donations(self.bdf), [])
        write(PCI + self.bdf + "/publish", "1")
        for _ in range(2):
            write(ADOPT, "1")
            self.name, = donations(self.bdf)
        # and no more of it is taken when it is offered no more
        fd = opened(self.name)
        m = Mapping(fd, PAGE)
        write(PCI + self.bdf + "/publish", "0")
        self.fails(errno.ENODEV, Mapping, fd, PAGE)
        self.assertEqual(m[0:8], bytes(8))
        m.unmap()
        os.close(fd)
        self.used(0)

    def test_several_pieces_are_refused(self):
        self.leave()
        write(PUBLISHER + "pieces", "2")
        mark = log_mark("p2pmem test: pieces")
        self.assertEqual(attach(self.driver, self.bdf), [])
        lines = [i for i in log_since(mark) if "p2pmem:" in i]
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("p2pmem_publisher has published is in 2 pieces, must be in one", lines[0])

    def test_a_pool_that_has_grown(self):
        """What came later isn't adopted, but the pool gives that first."""
        self.leave()
        write(PUBLISHER + "half", "1")
        self.come()
        self.assertEqual(attr(self.name, "size"), str(8 * MIB))
        write(PCI + self.bdf + "/grow", "1")
        self.assertEqual(layer(self.bdf, "size"), 16 * MIB)
        fd = opened(self.name)
        for size in (PAGE, MIB, 8 * MIB):
            m = Mapping(fd, size)
            m.check_own(1)
            m.unmap()
        # and none of it is used up
        self.assertEqual(layer(self.bdf, "available"), 16 * MIB)
        os.close(fd)
        self.leave()
        write(PUBLISHER + "half", "0")
        self.come()


class ModuleTest(unittest.TestCase):
    def test_loading_and_unloading(self):
        """p2pmem comes later than the publisher, and goes before it."""
        self.addCleanup(subprocess.run, ["modprobe", "-a", *MODULES], check=True)
        subprocess.run(["modprobe", "-r", *MODULES], check=True)
        cmb = pci_functions(NVME)[1]
        if not os.path.exists(PCI + cmb + "/driver"):
            attach("nvme", cmb)
        subprocess.run(["modprobe", "-r", "p2pmem"], check=True)
        free = layer(cmb, "available")
        subprocess.run(["modprobe", "p2pmem", "adopt=0"], check=True)
        self.assertEqual(os.listdir(CLASS), [])
        write(ADOPT, "1")
        subprocess.run(["modprobe", "-r", "p2pmem"], check=True)
        subprocess.run(["modprobe", "p2pmem"], check=True)
        name, = donations(cmb)
        fd = opened(name)
        m = Mapping(fd, PAGE)
        os.close(fd)
        # who uses it keeps the module, as with any donor
        self.assertNotEqual(subprocess.run(["rmmod", "p2pmem"], check=False,
                                           stderr=subprocess.DEVNULL).returncode, 0)
        self.assertEqual(layer(cmb, "available"), free - PAGE)
        m.unmap()
        self.assertEqual(layer(cmb, "available"), free)


if __name__ == "__main__":
    main(*MODULES)
