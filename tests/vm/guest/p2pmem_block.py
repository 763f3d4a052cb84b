#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""NVMe drives read and write a donor's memory by themselves (O_DIRECT). Two of
them are below the donor's switch, one is on a root port of its own. With P2PDMA
pages the kernel lets only the near ones; else nobody is in the way."""

import errno
import glob
import hashlib
import mmap
import os
import subprocess
import time

from p2pmem_guest import (NVME, PAGE, PCI, Bar, Mapping, attr, fork, main, p2pdma,
                          pci_functions, reap, set_attr, unbind)
from p2pmem_ioctl import alloc, close
from p2pmem_rdma import Rdma, rdmanode

from pyverbs.mr import MR
from pyverbs.pyverbs_error import PyverbsRDMAError

MIB = 1 << 20
FIO = """
fio --name=verify --filename={disk} --direct=1 --ioengine=libaio --iodepth=8 --bs=16k
    --rw=randwrite --size=8M --verify=crc32c --verify_fatal=1 --iomem=mmapshared:{memory}
""".split()


def disk_of(bdf):
    """The drive's block device, once it is there."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        for path in glob.glob("/sys/block/nvme*"):
            if f"/{bdf}/" in os.path.realpath(path) + "/":
                return "/dev/" + os.path.basename(path)
        time.sleep(0.1)
    raise LookupError(f"no disk of {bdf}")


def bridges(bdf):
    """How many are above it: more below a switch than on a root port."""
    return len(os.path.realpath(PCI + bdf).split("/"))


class Window:
    """Memory of the donor, as a buffer for I/O by the kernel."""

    def __init__(self, fd, length):
        self.map = mmap.mmap(fd, length, mmap.MAP_SHARED)
        self.view = memoryview(self.map)

    def read(self, disk, at, length):
        """From the disk into the memory; the number of bytes, or OSError."""
        return os.preadv(disk, [self.view[:length]], at)

    def write(self, disk, at, length):
        return os.pwritev(disk, [self.view[:length]], at)

    def close(self):
        self.view.release()
        self.map.close()


class Reader:
    """A process that reads from a disk into the memory until that is gone."""

    def __init__(self, disk, window):
        ready, told = os.pipe()

        def child():
            while True:
                try:
                    if window.read(disk, 0, len(window.view)) == len(window.view):
                        os.write(told, b".")
                except OSError as e:
                    # the pages are gone; or a request failed under way
                    if e.errno not in (errno.EFAULT, errno.EIO, errno.EREMOTEIO):
                        raise
                    return

        self.pid = fork(child)
        for _ in range(3):
            os.read(ready, 1)
        self.pipe = ready, told

    def ended(self):
        """As it should?"""
        close(*self.pipe)
        return reap(self.pid) == 0


def content(disk, at, length):
    """What is on the disk, by way of RAM."""
    ram = mmap.mmap(-1, length)
    assert os.preadv(disk, [ram], at) == length
    return bytes(ram)


def put(disk, at, data):
    """The other way round."""
    ram = mmap.mmap(-1, len(data))
    ram[:] = data
    assert os.pwritev(disk, [ram], at) == len(data)


class BlockTest(Rdma):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        subprocess.run("modprobe -q nvme", shell=True, check=False)
        drives = sorted(pci_functions(NVME), key=bridges)
        cls.disks = [disk_of(bdf) for bdf in drives]
        cls.far, cls.one, cls.two = cls.disks

    def setUp(self):
        super().setUp()
        self.p2pdma = p2pdma(self.bdf)
        self.fds = [os.open(d, os.O_RDWR | os.O_DIRECT) for d in (self.one, self.two, self.far)]

    def tearDown(self):
        close(*self.fds)
        super().tearDown()

    def test_from_drive_to_drive(self):
        one, two, _ = self.fds
        data = os.urandom(8 * MIB)
        put(one, 0, data)
        put(two, 0, bytes(8 * MIB))
        w = Window(self.fd, MIB)
        place = self.place_of(w)
        for at in range(0, 8 * MIB, MIB):
            self.assertEqual(w.read(one, at, MIB), MIB)
            # in the device, not in RAM
            self.assertTrue(Bar(self.bdf, 2).map[place:place + MIB] == data[at:at + MIB])
            self.assertEqual(w.write(two, at, MIB), MIB)
        w.close()
        self.assertEqual(hashlib.sha256(content(two, 0, 8 * MIB)).digest(),
                         hashlib.sha256(data).digest())

    @staticmethod
    def place_of(window):
        with open("/proc/self/maps", encoding="ascii") as file:
            lines = [i.split() for i in file if "/dev/p2pmem" in i]
        assert len(lines) == 1 and len(window.view)
        return int(lines[0][2], 16)

    def test_small_and_many(self):
        """fio with eight requests in flight, each block's checksum verified."""
        done = subprocess.run([i.format(disk=self.two, memory="/dev/" + self.name)
                               for i in FIO], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_one_who_is_far(self):
        far = self.fds[2]
        data = os.urandom(MIB)
        put(far, 0, data)
        w = Window(self.fd, MIB)
        start = time.monotonic()
        if self.p2pdma:
            for call in (w.read, w.write):
                self.fails(errno.EREMOTEIO, call, far, 0, MIB)
        else:
            self.assertEqual(w.read(far, 0, MIB), MIB)
            self.assertTrue(w.map[:] == data)
        self.assertLess(time.monotonic() - start, 5)
        w.close()
        self.assertTrue(content(far, 0, MIB) == data)

    def test_the_level_is_for_clients(self):
        """O_DIRECT into a mapping asks nobody for a hold: the level has no say
        (p2pmem(4), "Who may use it"), the kernel's own rules for peers have."""
        one, _, far = self.fds
        data = os.urandom(4 * PAGE)
        for disk in (one, far):
            put(disk, 0, data)
        set_attr(self.name, "level", "function")
        before = attr(self.name, "clients")
        w = Window(self.fd, 4 * PAGE)
        for disk in (one,) if self.p2pdma else (one, far):
            w.map[:] = bytes(4 * PAGE)
            self.assertEqual(w.read(disk, 0, 4 * PAGE), 4 * PAGE)
            self.assertTrue(w.map[:] == data)
            self.assertEqual(w.write(disk, 4 * PAGE, 4 * PAGE), 4 * PAGE)
            self.assertTrue(content(disk, 4 * PAGE, 4 * PAGE) == data)
        w.close()
        self.assertEqual(attr(self.name, "clients"), before)
        # who does ask is refused meanwhile
        m = Mapping(self.fd, PAGE)
        with self.assertRaises(PyverbsRDMAError) as e:
            MR(self.node.pds["pd"], PAGE, rdmanode.ALL, address=m.address)
        self.assertEqual(e.exception.error_code, errno.EPERM)
        m.unmap()

    def test_a_disk_that_knows_no_peers(self):
        """virtio-blk, the guest's own."""
        disk = os.open("/dev/vda", os.O_RDONLY | os.O_DIRECT)
        w = Window(self.fd, MIB)
        if self.p2pdma:
            self.fails(errno.EREMOTEIO, w.read, disk, 0, MIB)
        else:
            self.assertEqual(w.read(disk, 0, MIB), MIB)
            self.assertTrue(w.map[:] == content(disk, 0, MIB))
        w.close()
        os.close(disk)

    def test_rdma_then_drive(self):
        """What a peer has written goes to the drive from where it is."""
        one = self.fds[0]
        put(one, 0, bytes(4 * PAGE))
        region = alloc(self.fd, 4 * PAGE)
        m, w = Mapping(region, 4 * PAGE), Window(region, 4 * PAGE)
        mr = MR(self.node.pds["pd"], 4 * PAGE, rdmanode.ALL, address=m.address)
        data = os.urandom(PAGE)
        self.other.fill("mine", data)
        for at in range(0, 4 * PAGE, PAGE):
            self.ask("WRITE", m.address + at, mr.rkey, PAGE)
        self.assertEqual(w.write(one, 0, 4 * PAGE), 4 * PAGE)
        self.assertTrue(content(one, 0, 4 * PAGE) == data * 4)
        mr.close()
        w.close()
        m.unmap()
        os.close(region)

    def test_unbind_in_flight(self):
        w = Window(self.fd, MIB)
        reader = Reader(self.fds[0], w)
        start = time.monotonic()
        unbind(self.bdf)
        took = time.monotonic() - start
        self.assertTrue(reader.ended())
        self.assertLess(took, 5)
        w.close()


if __name__ == "__main__":
    main("p2pmem_bar", "srnic", "ib_uverbs")
