#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Regions as files of their own, flush and distance. Donors: bar, bar."""

import ctypes
import errno
import mmap
import os
import random
import re
import socket
import struct
import subprocess
import time
import unittest

from p2pmem_guest import (CLASS, IVSHMEM, PAGE, PCI, Child, Mapping, Taker, attr,
                          available, bind, bound, fork, libc, log_mark, log_since,
                          main, opened, pci_functions, race, randomness, read,
                          reap, unbind, wait_for, write)
from p2pmem_ioctl import (alloc, call, close, distance, export, fdinfo, flush,
                          number, raw, receive_fd, region_info, send_fd)
from p2pmem_unplug import touch

PERSISTENT = "/sys/module/p2pmem_bar/parameters/persistent"
REGIONS = "/sys/kernel/debug/p2pmem/{}/regions"
MAGIC = b"p2pmem region: "
NOBODY = 65534


def descriptors():
    """Those that are open (not that of the directory, which is read here)."""
    found = set()
    for fd in range(1024):
        try:
            os.fstat(fd)
            found.add(fd)
        except OSError:
            pass
    return found


class Taking(unittest.TestCase):
    """A donor, bound for one test; nothing may be left of it."""

    persistent = False

    def setUp(self):
        self.bdf, self.name = self.donor()
        self.size = int(attr(self.name, "size"))
        self.free = available(self.name)
        self.fd = opened(self.name)

    def donor(self):
        """(BDF, 'p2pmemN')"""
        write(PERSISTENT, "1" if self.persistent else "0")
        bdf = pci_functions(IVSHMEM)[0]
        return bdf, bind(bdf)

    def tearDown(self):
        os.close(self.fd)
        if bound(self.bdf):
            self.assertEqual(available(self.name), self.size)
            unbind(self.bdf)
        write(PERSISTENT, "0")

    def fails(self, code, what, *args, **kw):
        with self.assertRaises(OSError) as e:
            what(*args, **kw)
        self.assertEqual(e.exception.errno, code, f"{what} {args} {kw}")

    def used(self, size):
        self.assertEqual(available(self.name), self.free - size)


class RegionTest(Taking):
    def test_memory_is_the_descriptors(self):
        region = alloc(self.fd, 4 * PAGE)
        self.used(4 * PAGE)
        a, b = Mapping(region, 4 * PAGE), Mapping(region, PAGE, offset=2 * PAGE)
        self.assertEqual(a[0:4 * PAGE].count(0), 4 * PAGE)
        a.put(2 * PAGE, MAGIC)
        self.assertEqual(b[0:len(MAGIC)], MAGIC)
        self.assertEqual(b.place(), a.place() + 2 * PAGE)
        a.unmap()
        b.unmap()
        self.used(4 * PAGE)
        a = Mapping(region, 4 * PAGE)
        self.assertEqual(a[2 * PAGE:2 * PAGE + len(MAGIC)], MAGIC)
        os.close(region)
        self.used(4 * PAGE)
        a.unmap()
        self.used(0)

    def test_old_data_is_never_seen(self):
        for size in (PAGE, 33 * PAGE, self.size):
            for _ in range(2):
                region = alloc(self.fd, size)
                m = Mapping(region, size)
                self.assertEqual(m[0:size].count(0), size)
                ctypes.memset(m.address, 0x5A, size)
                m.unmap()
                os.close(region)

    def test_two_programs_one_pool(self):
        """Regions and mappings of four processes: never the same byte."""
        def child():
            rnd = randomness()
            fd = opened(self.name)
            for _ in range(60):
                size = PAGE * rnd.randint(1, 32)
                if rnd.random() < 0.5:
                    region = alloc(fd, size)
                    m = Mapping(region, size)
                    os.close(region)
                else:
                    m = Mapping(fd, size)
                m.check_own(rnd.randint(1, 255))
                m.unmap()

        self.assertEqual([reap(p) for p in [fork(child) for _ in range(4)]], [0] * 4)

    def test_bounds_of_a_mapping(self):
        region = alloc(self.fd, 4 * PAGE)
        neighbour = alloc(self.fd, 4 * PAGE)
        for offset, length in ((0, 5 * PAGE), (PAGE, 4 * PAGE), (4 * PAGE, PAGE),
                               (1 << 62, PAGE), ((1 << 63) - PAGE, PAGE)):
            with self.assertRaises(OSError) as e:
                Mapping(region, length, offset=offset)
            self.assertIn(e.exception.errno, (errno.EINVAL, errno.EOVERFLOW))
        self.fails(errno.EINVAL, Mapping, region, PAGE, flags=mmap.MAP_PRIVATE)
        close(region, neighbour)

    def test_no_read_no_write(self):
        region = alloc(self.fd, PAGE)
        self.fails(errno.EINVAL, os.read, region, 1)
        self.fails(errno.EINVAL, os.write, region, b"x")
        os.close(region)

    def test_a_read_only_device_gives_read_only_regions(self):
        fd = opened(self.name, os.O_RDONLY)
        region = alloc(fd, PAGE)
        self.fails(errno.EACCES, Mapping, region, PAGE)
        m = Mapping(region, PAGE, prot=mmap.PROT_READ)
        self.assertEqual(libc.mprotect(m.address, PAGE, 3), -1)
        buf = export(region)
        self.fails(errno.EACCES, Mapping, buf, PAGE)
        m.unmap()
        close(buf, region, fd)

    def test_cloexec(self):
        for flags, kept in ((1, False), (0, True)):
            region = alloc(self.fd, PAGE, flags=flags)
            buf = export(region, flags=flags)
            for fd in (region, buf):
                self.assertEqual(os.get_inheritable(fd), kept)
            close(region, buf)

    def test_name(self):
        region = alloc(self.fd, 2 * PAGE, name=b"ring of queue 7")
        place = region_info(region)[1]
        minor = int(self.name.removeprefix("p2pmem"))
        self.assertEqual(region_info(region), (2 * PAGE, place, self.size - 2 * PAGE, 0,
                                               minor, b"ring of queue 7"))
        info = fdinfo(region)
        self.assertEqual((info["p2pmem-device"], info["p2pmem-place"],
                          info["p2pmem-size"], info["p2pmem-name"]),
                         (self.name, hex(place), str(2 * PAGE),
                          "ring of queue 7"))
        m = Mapping(region, PAGE)
        lines = read(REGIONS.format(self.name)).split("\n")[1:]
        self.assertEqual([i.split(None, 4) for i in lines],
                         [[info["p2pmem-place"], str(2 * PAGE), "2", "file",
                           "ring of queue 7"]])
        m.unmap()
        os.close(region)
        # as long as it may be
        region = alloc(self.fd, PAGE, name=b"n" * 31)
        self.assertEqual(region_info(region)[5], b"n" * 31)
        os.close(region)

    def test_a_descriptor_is_passed_on(self):
        """Over a socket, to a process that never had the device."""
        ours, theirs = socket.socketpair()

        def child():
            os.close(self.fd)
            ours.close()
            region = receive_fd(theirs)
            size = region_info(region)[0]
            m = Mapping(region, size)
            if m[0:len(MAGIC)] != MAGIC:
                raise AssertionError("not the bytes that were sent")
            m.put(PAGE, MAGIC)
            theirs.send(b".")
            theirs.recv(1)

        region = alloc(self.fd, 2 * PAGE)
        m = Mapping(region, 2 * PAGE)
        m.put(0, MAGIC)
        pid = fork(child)
        theirs.close()
        send_fd(ours, region)
        os.close(region)
        self.assertEqual(ours.recv(1), b".")
        self.assertEqual(m[PAGE:PAGE + len(MAGIC)], MAGIC)
        m.unmap()
        self.used(2 * PAGE)
        ours.send(b".")
        self.assertEqual(reap(pid), 0)
        self.used(0)
        ours.close()

    def test_a_descriptor_in_a_socket_keeps_the_memory(self):
        ours, theirs = socket.socketpair()
        region = alloc(self.fd, PAGE)
        send_fd(ours, region)
        os.close(region)
        self.used(PAGE)
        ours.close()
        theirs.close()
        self.assertTrue(wait_for(lambda: available(self.name) == self.size))
        # sockets that have each other and it: nobody's, the kernel finds out
        ours, theirs = socket.socketpair()
        region = alloc(self.fd, PAGE)
        for fd in (region, theirs.fileno(), ours.fileno()):
            send_fd(ours, fd)
        os.close(region)
        ours.close()
        theirs.close()
        socket.socketpair()[0].close()
        self.assertTrue(wait_for(lambda: available(self.name) == self.size))

    def test_fork_and_dup(self):
        region = alloc(self.fd, PAGE)
        other = os.dup(region)
        os.close(region)
        self.used(PAGE)

        def work(_step):
            m = Mapping(other, PAGE)
            m.put(0, MAGIC)
            m.unmap()

        c = Child(work)
        self.assertTrue(c.step())
        m = Mapping(other, PAGE)
        self.assertEqual(m[0:len(MAGIC)], MAGIC)
        m.unmap()
        os.close(other)
        self.used(PAGE)
        c.kill()
        self.used(0)

    def test_kill(self):
        def work(_step):
            work.kept = [alloc(self.fd, PAGE) for _ in range(20)]
            work.kept += [export(fd) for fd in work.kept]
            Mapping(work.kept[-1], PAGE)
            Mapping(work.kept[0], PAGE)

        c = Child(work)
        self.assertTrue(c.step())
        self.used(20 * PAGE)
        c.kill()
        self.assertTrue(wait_for(lambda: available(self.name) == self.size))

    def test_the_device_may_be_closed_first(self):
        fd = opened(self.name)
        region = alloc(fd, PAGE)
        os.close(fd)
        m = Mapping(region, PAGE)
        m.put(0, MAGIC)
        m.unmap()
        os.close(region)

    def test_no_descriptor_left(self):
        def child():
            fd = opened(self.name)
            import resource	# pylint: disable=import-outside-toplevel
            resource.setrlimit(resource.RLIMIT_NOFILE, (fd + 2, fd + 2))
            region = alloc(fd, PAGE)
            self.fails(errno.EMFILE, alloc, fd, PAGE)
            self.fails(errno.EMFILE, export, region)

        self.assertEqual(reap(fork(child)), 0)

    def test_a_hold_on_it(self):
        """What an RNIC does: by the address of a mapping, which may then go."""
        taker = Taker()
        region = alloc(self.fd, 4 * PAGE)
        m = Mapping(region, 2 * PAGE, offset=PAGE)
        h = taker.hold(m.address + PAGE, PAGE)
        taker.write(h, 8, 0x1122334455667788)
        m.unmap()
        os.close(region)
        self.used(4 * PAGE)
        self.assertEqual(taker.read(h, 8), 0x1122334455667788)
        taker.put(h)
        self.used(0)
        taker.close()

    def test_full(self):
        # ten lines in five seconds are logged: others may have used them up
        time.sleep(5)
        mark = log_mark("p2pmem test: full")
        self.fails(errno.ENOMEM, alloc, self.fd, self.size + PAGE)
        self.fails(errno.ENOMEM, alloc, self.fd, 1 << 62)
        self.fails(errno.ENOMEM, alloc, self.fd, (1 << 64) - PAGE)
        self.assertTrue(any("allocation refused" in i for i in log_since(mark)))
        region = alloc(self.fd, self.size)
        self.fails(errno.ENOMEM, alloc, self.fd, PAGE)
        os.close(region)


class HostileTest(Taking):
    def test_fields(self):
        bad = errno.EINVAL
        for size in (0, 1, PAGE - 1, PAGE + 1, (1 << 64) - 1):
            self.fails(bad, alloc, self.fd, size)
        for offset in (1, PAGE, (1 << 64) - PAGE):
            self.fails(bad, alloc, self.fd, PAGE, offset=offset)
        for flags in (2, 1 << 31, 0xFFFFFFFE):
            self.fails(bad, alloc, self.fd, PAGE, flags=flags)
        for name in (b"n" * 32, b"new\nline", b"\x7f", b"\xff", b"t\tab"):
            self.fails(bad, alloc, self.fd, PAGE, name=name)
        for i in range(4):
            self.fails(bad, alloc, self.fd, PAGE, reserved=[int(i == n) for n in range(4)])
        region = alloc(self.fd, 4 * PAGE)
        for offset, size in ((1, 0), (0, 1), (4 * PAGE, 0), (0, 5 * PAGE),
                             (PAGE, 4 * PAGE), ((1 << 64) - PAGE, 2 * PAGE),
                             (PAGE, (1 << 64) - PAGE)):
            self.fails(bad, export, region, offset, size)
        self.fails(bad, export, region, flags=2)
        for i in range(4):
            self.fails(bad, export, region, reserved=[int(i == n) for n in range(4)])
        for i in range(2):
            self.fails(bad, flush, self.fd, reserved=[int(i == n) for n in range(2)])
        for i in range(3):
            self.fails(bad, distance, self.fd, self.bdf,
                       reserved=[int(i == n) for n in range(3)])
        self.fails(bad, distance, self.fd, self.bdf, pad=1)
        self.fails(bad, distance, self.fd, "0000:00:20.0")
        self.fails(bad, distance, self.fd, "0000:00:00.8")
        os.close(region)

    def test_sizes_of_structures(self):
        """Older programs, newer programs, and none that there ever was."""
        region = alloc(self.fd, PAGE)
        for name, fd, values in (
                ("info", self.fd, (0,) * 9),
                ("alloc", self.fd, (PAGE, 0, 0, 1, -1, b"", 0, 0, 0, 0)),
                ("export", region, (0, 0, 1, -1, 0, 0, 0, 0)),
                ("distance", self.fd, (0,) * 10), ("region", region, (0,) * 5 + (b"",) + (0,) * 4)):
            got = call(fd, name, *values, extra=bytes(64))
            if name in ("alloc", "export"):
                os.close(got[4 if name == "alloc" else 3])
                self.fails(errno.E2BIG, call, fd, name, *values, extra=bytes(63) + b"x")
            size = number(name) >> 16 & 0x3FFF
            for less in (0, 1, size - 8, size - 1):
                self.fails(errno.EINVAL, raw, fd, number(name, less), bytearray(size))
            self.fails(errno.EFAULT, raw, fd, number(name), 8)
            self.fails(errno.EFAULT, raw, fd, number(name), (1 << 47) - 8)
        os.close(region)

    def test_what_can_not_be_told_is_not_made(self):
        """The structure becomes read-only: no descriptor, no memory."""
        page = Mapping(-1, PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        page.put(0, struct.pack("QQQIi", PAGE, 0, 0, 1, -1))
        libc.mprotect(page.address, PAGE, mmap.PROT_READ)
        before = descriptors()
        self.fails(errno.EFAULT, raw, self.fd, number("alloc"), page.address)
        self.assertEqual(descriptors(), before)
        self.assertTrue(wait_for(lambda: available(self.name) == self.size))
        page.unmap()

    def test_wrong_files(self):
        region = alloc(self.fd, PAGE)
        buf = export(region)
        for name, fd in (("alloc", region), ("info", region), ("export", self.fd),
                         ("region", self.fd), ("alloc", buf), ("export", buf)):
            self.fails(errno.ENOTTY, raw, fd, number(name), bytearray(256))
        for request in (0, 0xFFFFFFFF, number("alloc") ^ 1 << 30, number("info") | 0x7F,
                        number("alloc") & ~0xFF00):
            self.fails(errno.ENOTTY, raw, self.fd, request, bytearray(256))
        close(buf, region)

    def test_noise(self):
        """Random bytes for every request: an answer each, nothing left."""
        rnd = random.Random(7)
        region = alloc(self.fd, PAGE)
        made = 0
        keep = descriptors()
        for _ in range(4000):
            name = rnd.choice(("info", "alloc", "export", "flush", "distance", "region"))
            data = bytearray(rnd.choice((rnd.randbytes(256), bytes(256))))
            for _ in range(3):
                data[rnd.randrange(100)] = rnd.choice((0, 1, 16, 255))
            try:
                raw(rnd.choice((self.fd, region)),
                    number(name, rnd.choice((None, rnd.randrange(200)))), data)
                made += 1
            except OSError as e:
                self.assertIn(e.errno, (errno.EINVAL, errno.ENOTTY, errno.E2BIG,
                                        errno.ENXIO, errno.ENOMEM, errno.EOPNOTSUPP))
        self.assertGreater(made, 0)
        close(*descriptors() - keep)
        self.used(PAGE)
        os.close(region)


class PlaceTest(Taking):
    persistent = True

    def test_a_region_is_a_place(self):
        region = alloc(self.fd, 2 * PAGE, offset=5 * PAGE, name=b"log")
        self.assertEqual(region_info(region)[1:4], (5 * PAGE, self.size - 2 * PAGE, 1))
        m = Mapping(region, PAGE, offset=PAGE)
        m.put(0, MAGIC)
        m.unmap()
        os.close(region)
        # never zeroed: by offset, and by another region
        m = Mapping(self.fd, PAGE, offset=6 * PAGE)
        self.assertEqual(m[0:len(MAGIC)], MAGIC)
        region = alloc(self.fd, PAGE, offset=6 * PAGE)
        self.used(PAGE)
        other = Mapping(region, PAGE)
        self.assertEqual(other[0:len(MAGIC)], MAGIC)
        other.put(0, bytes(len(MAGIC)))
        self.assertEqual(m[0:len(MAGIC)], bytes(len(MAGIC)))
        m.unmap()
        other.unmap()
        os.close(region)

    def test_outside(self):
        for offset, size in ((0, self.size + PAGE), (self.size, PAGE), (PAGE, self.size),
                             ((1 << 64) - PAGE, 2 * PAGE), (1, PAGE)):
            self.fails(errno.EINVAL, alloc, self.fd, size, offset)

    def test_overlapping_places_are_charged_to_each(self):
        write(CLASS + self.name + "/limit_user", str(4 * PAGE))
        regions = [alloc(self.fd, 2 * PAGE), alloc(self.fd, 2 * PAGE, offset=PAGE)]
        self.used(3 * PAGE)
        self.fails(errno.EDQUOT, alloc, self.fd, PAGE)
        close(*regions)

    def test_flush(self):
        region = alloc(self.fd, 4 * PAGE, offset=8 * PAGE)
        m = Mapping(region, 4 * PAGE)
        for fd, size in ((self.fd, self.size), (region, 4 * PAGE)):
            for offset, length in ((0, 0), (1, 1), (0, size), (size - 1, 1),
                                   (size - 1, 0), (7, 4097)):
                flush(fd, offset, length)
            for offset, length in ((size, 0), (size, 1), (0, size + 1), (1, size),
                                   ((1 << 64) - 1, 2), (2, (1 << 64) - 1)):
                self.fails(errno.EINVAL, flush, fd, offset, length)
            os.fsync(fd)
        m.put(0, MAGIC)
        self.assertEqual(libc.msync(m.address, 4 * PAGE, 4), 0)
        m.unmap()
        os.close(region)


class FlushTest(Taking):
    def test_volatile_memory_has_no_flush(self):
        region = alloc(self.fd, PAGE)
        for fd in (self.fd, region):
            self.fails(errno.EOPNOTSUPP, flush, fd)
            self.fails(errno.EINVAL, flush, fd, 1 << 63)
            os.fsync(fd)
        os.close(region)


class DistanceTest(Taking):
    """Against what the directory tree in sysfs says."""

    def expected(self, bdf):
        def chain(function):
            path = os.path.realpath(PCI + function)
            return re.findall(r"pci[0-9a-f]{4}:[0-9a-f]{2}|[0-9a-f:]{10}\.[0-7]", path)

        ours, theirs = chain(self.bdf), chain(bdf)
        if ours == theirs:
            return 0, 0
        # a host bridge (from one to another is no step), a root port, what is behind it
        same = len(os.path.commonprefix([ours[:-1], theirs[:-1]]))
        links = len(ours) + len(theirs) - 2 * max(same, 1)
        if ours[:-1] == theirs[:-1] and ours[-1][:-2] == theirs[-1][:-2]:
            links = 0
        return (3 if not same else 2 if same <= 2 else 1), links

    def test_to_every_function(self):
        region = alloc(self.fd, PAGE)
        seen = set()
        for bdf in os.listdir(PCI):
            for fd in (self.fd, region):
                self.assertEqual(distance(fd, bdf), self.expected(bdf), bdf)
            seen.add(self.expected(bdf)[0])
        self.assertLessEqual({0, 1, 2}, seen)
        os.close(region)

    def test_to_nothing(self):
        for bdf in ("0000:fe:1f.7", "7fffffff:00:00.0", "ffffffff:00:00.0"):
            self.fails(errno.ENXIO, distance, self.fd, bdf)


class DepartureTest(Taking):
    def test_everything_is_over(self):
        region = alloc(self.fd, 2 * PAGE)
        buf = export(region)
        maps = [Mapping(i, 2 * PAGE) for i in (region, buf)]
        ours, theirs = socket.socketpair()
        send_fd(ours, region)
        unbind(self.bdf)
        for m in maps:
            self.assertTrue(touch(m.address))
        gone = errno.ENODEV
        self.fails(gone, alloc, self.fd, PAGE)
        self.fails(gone, export, region)
        self.fails(gone, region_info, region)
        self.fails(gone, distance, region, self.bdf)
        self.fails(gone, flush, region)
        for fd in (self.fd, region, buf):
            self.fails(gone, Mapping, fd, PAGE)
        passed = receive_fd(theirs)
        self.fails(gone, Mapping, passed, PAGE)
        # the donor comes back: the old region has nothing of it
        self.assertEqual(bind(self.bdf), self.name)
        self.used(0)
        self.fails(gone, Mapping, region, PAGE)
        self.assertTrue(touch(maps[0].address))
        for m in maps:
            m.unmap()
        close(region, buf, passed)
        self.used(0)

    def test_rmmod_with_a_region(self):
        region = alloc(self.fd, 2 * PAGE)
        buf = export(region)
        m = Mapping(buf, PAGE)
        subprocess.run(["rmmod", "p2pmem_bar"], check=True)
        self.assertTrue(touch(m.address))
        # the core has files open
        self.assertNotEqual(subprocess.run(["rmmod", "p2pmem"], check=False,
                                           stderr=subprocess.DEVNULL).returncode, 0)
        subprocess.run(["modprobe", "p2pmem_bar"], check=True)
        m.unmap()
        close(region, buf)

    def test_at_work_while_the_donor_comes_and_goes(self):
        def child(on, got):
            while on():
                fds = []
                try:
                    fds.append(opened(self.name))
                    fds.append(alloc(fds[0], 16 * PAGE))
                    fds.append(export(fds[1], PAGE, 4 * PAGE))
                    maps = [Mapping(fds[1], 16 * PAGE), Mapping(fds[2], 4 * PAGE)]
                    for m in maps:
                        m.unmap()
                    got()
                except OSError as e:
                    if e.errno not in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
                        raise
                close(*fds)

        race(self.bdf, child, processes=3)
        self.assertEqual(available(self.name), self.size)


if __name__ == "__main__":
    main("p2pmem_bar", "p2pmem_taker")
