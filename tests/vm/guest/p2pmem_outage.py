#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Resets and sleep: what the memory loses meanwhile, and who is told. Donors: bar:16M,
bar:16M, and both:16M as the third NVMe controller; a bar on a root port of its own, for
errors that QEMU makes, on kernels that look for them. The kernel has iomem=relaxed: what
a device loses in a reset, QEMU's doesn't."""

import ctypes
import errno
import mmap
import os
import signal
import subprocess
import threading
import time
import unittest

from p2pmem_dmabuf import Importer
from p2pmem_guest import (IVSHMEM, PAGE, PCI, Bar, Mapping, Taker, attach, attr, available,
                          bind, detach, donation, donations, fork, libc, log_mark, log_since,
                          main, monitor, opened, pci_functions, port_above, reap, set_attr,
                          unbind, wait_for, write)
from p2pmem_ioctl import alloc, close, export, flush
from p2pmem_nvme import CMBMSC, CMSE, CRE, EN, MS_SYNC, PMRCTL, Uevents, functions, registers
from p2pmem_rdma import Rdma, rdmanode
from p2pmem_take import PERSISTENT
from p2pmem_unplug import touch
from pyverbs.mr import DmaBufMR
from pyverbs.pyverbs_error import PyverbsRDMAError

ADOPT = "/sys/module/p2pmem/parameters/adopt"
NVME_DRIVER = "p2pmem_nvme"
WORDS = b"written in an outage"
ROOT_PORT = ("0x1b36", "0x000c")
OUT_OF_ORDER = "out of order"
# drivers have callbacks for it only then
SLEEP = unittest.skipUnless(os.path.exists("/sys/power/state"), "this kernel never sleeps")
# pci_ers_result_t
CAN_RECOVER, NEED_RESET, DISCONNECT, RECOVERED = range(2, 6)


def config(bdf, *what):
    """Look at a register of a function, or set some."""
    done = subprocess.run(["setpci", "-s", bdf, *what], check=True, capture_output=True,
                          text=True)
    return done.stdout.strip()


def msync(m):
    if libc.msync(m.address, PAGE, MS_SYNC):
        raise OSError(ctypes.get_errno(), "msync")


def switch_off(bdf):
    """Of an NVMe controller: both kinds of memory."""
    regs = Bar(bdf, 0)
    regs.put32(CMBMSC, 0)
    regs.put32(PMRCTL, 0)


class OutageTest(Rdma):
    @classmethod
    def setUpClass(cls):
        """Without memory that others have published, where the kernel has such."""
        super().setUpClass()
        if os.path.exists(ADOPT):
            write(ADOPT, "0")

    @classmethod
    def tearDownClass(cls):
        if os.path.exists(ADOPT):
            write(ADOPT, "1")
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        self.both = functions()[2]
        self.taker = Taker()

    def tearDown(self):
        self.taker.close()
        detach(self.both)
        super().tearDown()

    def bind_nvme(self, kind):
        return next(name for name in attach(NVME_DRIVER, self.both)
                    if attr(name, "kind") == kind)

    def new_key(self, m):
        return rdmanode.MR(self.node.pds["pd"], PAGE, rdmanode.ALL, address=m.address)

    def dead(self, at, mr):
        self.ask("READ", at, mr.rkey, status="REM_ACCESS_ERR")
        rdmanode.unpair(self.other, self.node, "qp")
        rdmanode.pair(self.other, self.node, "qp")

    def reset(self, bdf):
        write(PCI + bdf + "/reset", "1")

    def sleep(self, bdf):
        self.taker.suspend(bdf)
        self.taker.resume(bdf)

    def told(self, name, outage):
        """Each that is older than an outage is told of it once, however it asks."""
        files = [opened(name) for _ in range(4)]
        m = Mapping(files[0], 2 * PAGE)
        files.append(alloc(files[3], PAGE, PAGE))
        files.append(alloc(files[3], PAGE, PAGE))
        hold = self.taker.hold(m.address, PAGE)
        ask = [lambda: msync(m), lambda: os.fsync(files[1]), lambda: flush(files[2], 0, 8),
               lambda: os.fsync(files[4]), lambda: flush(files[5]),
               lambda: self.taker.persist(hold, 0, 8)]
        for each in ask:
            each()
        for _ in range(2):
            outage(m)
            young = opened(name)
            flush(young)
            close(young)
            for each in ask:
                self.fails(errno.EIO, each)
                each()
        # of two outages at once
        outage(m)
        outage(m)
        for each in ask:
            self.fails(errno.EIO, each)
            each()
        self.taker.put(hold)
        m.unmap()
        close(*files)

    def pmr_outage(self, end):
        """A program and a peer write while the PMR is off: nobody says a word."""
        def outage(m):
            mr = self.new_key(m)
            m.put(0, bytes(128))
            switch_off(self.both)
            m.put(0, WORDS)
            self.other.fill("mine", WORDS)
            self.ask("WRITE", m.address + 64, mr.rkey, len(WORDS))
            end(self.both)
            self.assertEqual(m[0:128], bytes(128))
            # the key is as good as before
            self.ask("WRITE", m.address + 64, mr.rkey, len(WORDS))
            self.assertEqual(m[64:64 + len(WORDS)], WORDS)
            mr.close()
        return outage

    def test_a_reset_of_persistent_memory(self):
        self.told(self.bind_nvme("pmr"), self.pmr_outage(self.reset))
        now = registers(self.both)
        self.assertEqual((now["pmrctl"], now["cmbmsc"] & (CRE | CMSE)), (EN, CRE | CMSE))
        self.assertNotEqual(now["cmbsz"], 0)

    @SLEEP
    def test_sleep_of_persistent_memory(self):
        self.told(self.bind_nvme("pmr"), self.pmr_outage(self.sleep))
        now = registers(self.both)
        self.assertEqual((now["pmrctl"], now["cmbmsc"] & (CRE | CMSE)), (EN, CRE | CMSE))

    def persistent_bar(self, outage):
        unbind(self.bdf)
        write(PERSISTENT, "1")
        self.name = bind(self.bdf)
        self.told(self.name, lambda m: outage(self.bdf))

    def test_a_persistent_bar(self):
        self.persistent_bar(self.reset)

    @SLEEP
    def test_sleep_of_a_persistent_bar(self):
        self.persistent_bar(self.sleep)

    @SLEEP
    def test_asleep(self):
        """Until it wakes up nothing is durable, and of volatile memory nothing is had."""
        unbind(self.bdf)
        pmr = self.bind_nvme("pmr")
        cmb = next(n for n in os.listdir("/sys/class/p2pmem") if attr(n, "kind") == "cmb")
        fd, volatile = opened(pmr), opened(cmb)
        m, region = Mapping(fd, PAGE), alloc(volatile, PAGE)
        events = Uevents()
        self.taker.suspend(self.both)
        self.assertEqual(events.next(pmr, "OUTAGE"), "begin")
        self.assertEqual((attr(pmr, "health"), attr(cmb, "health")), ("outage", "outage"))
        for _ in range(2):
            self.fails(errno.EIO, msync, m)
        self.assertIsNone(self.taker.find())
        for what in (lambda: Mapping(volatile, PAGE), lambda: alloc(volatile, PAGE),
                     lambda: Mapping(region, PAGE), lambda: opened(cmb)):
            self.fails(errno.EIO, what)
        self.taker.resume(self.both)
        self.assertEqual(events.next(pmr, "OUTAGE"), "end")
        self.assertEqual(self.taker.find(), cmb)
        self.fails(errno.EIO, msync, m)
        msync(m)
        self.assertEqual(attr(pmr, "health"), "ok")
        m.unmap()
        Mapping(volatile, PAGE).unmap()
        close(fd, volatile, region)

    def test_mappings_of_persistent_memory(self):
        """In an outage there are none, and afterwards the same ones."""
        unbind(self.bdf)
        fd = opened(self.bind_nvme("pmr"))
        m, region = Mapping(fd, 4 * PAGE), alloc(fd, PAGE, 2 * PAGE)
        m.put(2 * PAGE, WORDS)
        for _ in range(2):
            self.taker.error(self.both, Taker.FROZEN)
            for at in (0, 2 * PAGE):
                self.assertTrue(touch(m.address + at))
            for what in (fd, region):
                self.fails(errno.EIO, Mapping, what, PAGE)
            self.taker.error(self.both, Taker.RECOVERED)
            self.assertEqual(m[2 * PAGE:2 * PAGE + len(WORDS)], WORDS)
            m.put(0, WORDS)
            self.assertEqual(Bar(self.both, 4).map[0:len(WORDS)], WORDS)
            other = Mapping(region, PAGE)
            self.assertEqual(other[0:len(WORDS)], WORDS)
            other.unmap()
        m.unmap()
        close(fd, region)

    def test_mappings_that_are_being_made(self):
        """When an outage has begun no program has one."""
        unbind(self.bdf)
        name, flag = self.bind_nvme("pmr"), memoryview(mmap.mmap(-1, PAGE))

        def child():
            fd = opened(name)
            while not flag[1]:
                out = flag[0]
                try:
                    m = Mapping(fd, 8 * PAGE)
                except OSError as e:
                    if e.errno != errno.EIO:
                        raise
                    continue
                got = m[7 * PAGE:7 * PAGE + 1]
                # it has lasted all the time, as far as the parent knows
                if out and flag[0] == out:
                    raise AssertionError(got)
                m.unmap()

        def parent():
            while not flag[1]:
                if reap(fork(child)) not in (0, -signal.SIGBUS):
                    raise AssertionError("see above")

        pids = [fork(parent) for _ in range(3)]
        for number in range(1, 60):
            self.taker.error(self.both, Taker.FROZEN)
            flag[0] = number
            time.sleep(0.01)
            flag[0] = 0
            self.taker.error(self.both, Taker.RECOVERED)
            time.sleep(0.01 * (number % 3))
        flag[1] = 1
        self.assertEqual([reap(pid) for pid in pids], [0] * 3)

    def stays_out(self, why):
        """A line says why, and nobody gets it."""
        mark = log_mark("p2pmem test: stays out")
        self.taker.error(self.bdf, Taker.RECOVERED)
        lines = [i for i in log_since(mark) if "stays out until a reset that helps" in i]
        self.assertEqual(len(lines), 1, lines)
        self.assertIn(why, lines[0])
        self.assertEqual(attr(self.name, "health"), OUT_OF_ORDER)
        self.fails(errno.EIO, opened, self.name)
        self.fails(errno.EIO, Mapping, self.fd, PAGE)

    def test_a_reset_that_fails(self):
        """Volatile memory is tested before anybody gets it."""
        events, m = Uevents(), Mapping(self.fd, PAGE)
        bar = config(self.bdf, "BASE_ADDRESS_2")
        self.assertEqual(self.taker.error(self.bdf, Taker.FROZEN), NEED_RESET)
        config(self.bdf, "COMMAND=0:2")
        self.stays_out("the function's memory is switched off")
        # where nobody looks for it
        config(self.bdf, f"BASE_ADDRESS_2={int(bar, 16) ^ 1 << 26:08x}", "COMMAND=2:2")
        self.stays_out("no memory behind it")
        config(self.bdf, "BASE_ADDRESS_2=" + bar)
        self.taker.error(self.bdf, Taker.RECOVERED)
        self.assertEqual([events.next(self.name, "OUTAGE") for _ in range(2)],
                         ["begin", "end"])
        self.assertEqual(attr(self.name, "health"), "ok")
        self.assertTrue(touch(m.address))
        m.unmap()
        m = Mapping(self.fd, PAGE)
        self.assertEqual(m[0:PAGE], bytes(PAGE))
        m.unmap()

    def test_a_reset_that_fails_with_persistent_memory(self):
        unbind(self.bdf)
        write(PERSISTENT, "1")
        self.name = bind(self.bdf)
        fd = opened(self.name)
        m = Mapping(fd, PAGE)
        m.put(0, WORDS)
        self.assertEqual(self.taker.error(self.bdf, Taker.FROZEN), NEED_RESET)
        config(self.bdf, "COMMAND=0:2")
        self.taker.error(self.bdf, Taker.RECOVERED)
        self.assertEqual(attr(self.name, "health"), OUT_OF_ORDER)
        self.assertTrue(touch(m.address))
        self.fails(errno.EIO, msync, m)
        self.fails(errno.EIO, msync, m)
        self.reset(self.bdf)
        self.assertTrue(touch(m.address))
        config(self.bdf, "COMMAND=2:2")
        self.reset(self.bdf)
        self.assertEqual(attr(self.name, "health"), "ok")
        self.assertEqual(m[0:len(WORDS)], WORDS)
        self.fails(errno.EIO, msync, m)
        msync(m)
        m.unmap()
        os.close(fd)

    def test_dma_and_rules_are_not_waited_for(self):
        """Neither DMA into a dma-buf that is under way, nor a new level that waits for
        it, keeps a reset."""
        region = alloc(self.fd, PAGE)
        buf = export(region)
        importer = Importer(buf, self.both)
        importer.fence()
        level = threading.Thread(target=set_attr, args=(self.name, "level", "function"))
        level.start()
        self.assertTrue(wait_for(lambda: importer.notified() == 1))
        self.assertTrue(level.is_alive())
        reset = threading.Thread(target=self.reset, args=(self.bdf,))
        reset.start()
        reset.join(5)
        alive = reset.is_alive(), level.is_alive()
        importer.signal()
        level.join(10)
        reset.join(10)
        self.assertEqual(alive, (False, True))
        importer.close()
        close(region, buf)

    def test_a_lost_function_and_rules(self):
        """Nor is it waited for when the memory is taken away, but when it is withdrawn."""
        region = alloc(self.fd, PAGE)
        buf = export(region)
        importer = Importer(buf, self.both)
        importer.fence()
        level = threading.Thread(target=set_attr, args=(self.name, "level", "function"))
        level.start()
        self.assertTrue(wait_for(lambda: importer.notified() == 1))
        lost = threading.Thread(target=self.taker.error, args=(self.bdf, Taker.PERM_FAILURE))
        lost.start()
        lost.join(5)
        alive = lost.is_alive()
        leaving = threading.Thread(target=detach, args=(self.bdf,))
        leaving.start()
        leaving.join(1)
        waits = leaving.is_alive()
        importer.signal()
        for thread in lost, level, leaving:
            thread.join(10)
        self.assertEqual((alive, waits, donations(self.bdf)), (False, True, []))
        importer.close()
        close(region, buf)

    def test_errors_on_the_bus(self):
        """What the kernel tells a driver; the function answers again, and may have
        forgotten its place."""
        m = Mapping(self.fd, PAGE)
        self.assertEqual(self.taker.error(self.bdf, Taker.NON_FATAL), CAN_RECOVER)
        self.taker.error(self.bdf, Taker.RECOVERED)
        self.assertEqual(m[0:8], bytes(8))
        self.fails(errno.EIO, msync, m)
        msync(m)
        for _ in range(2):
            self.assertEqual(self.taker.error(self.bdf, Taker.FROZEN), NEED_RESET)
            self.assertTrue(touch(m.address))
            m.unmap()
            self.fails(errno.EIO, Mapping, self.fd, PAGE)
            config(self.bdf, "BASE_ADDRESS_2=0", "COMMAND=0:7")
            self.assertEqual(self.taker.error(self.bdf, Taker.SLOT_RESET), RECOVERED)
            self.taker.error(self.bdf, Taker.RECOVERED)
            m = Mapping(self.fd, PAGE)
            self.assertEqual(m[0:PAGE], bytes(PAGE))
            # where nothing is QEMU reads as zero
            m.put(0, WORDS)
            self.assertEqual(m[0:len(WORDS)], WORDS)
        m.unmap()

    def test_errors_of_a_controller(self):
        pmr = self.bind_nvme("pmr")
        fd = opened(pmr)
        m = Mapping(fd, PAGE)
        m.put(0, WORDS)
        self.assertEqual(self.taker.error(self.both, Taker.NON_FATAL), CAN_RECOVER)
        self.taker.error(self.both, Taker.RECOVERED)
        self.fails(errno.EIO, msync, m)
        msync(m)
        self.assertEqual(self.taker.error(self.both, Taker.FROZEN), NEED_RESET)
        self.assertTrue(touch(m.address))
        switch_off(self.both)
        self.assertEqual(self.taker.error(self.both, Taker.SLOT_RESET), RECOVERED)
        self.taker.error(self.both, Taker.RECOVERED)
        self.assertEqual((attr(pmr, "health"), m[0:len(WORDS)]), ("ok", WORDS))
        now = registers(self.both)
        self.assertEqual((now["pmrctl"], now["cmbmsc"] & (CRE | CMSE)), (EN, CRE | CMSE))
        self.fails(errno.EIO, msync, m)
        msync(m)
        m.unmap()
        os.close(fd)

    def taken_away(self, bdf, name):
        """A function that is lost: nobody waits, and remove() finds what is to be done."""
        fd = opened(name)
        m = Mapping(fd, 2 * PAGE)
        self.taker.pin(m.address + PAGE)
        start = time.monotonic()
        self.assertEqual(self.taker.error(bdf, Taker.PERM_FAILURE), DISCONNECT)
        self.assertLess(time.monotonic() - start, 5)
        self.assertEqual(donations(bdf), [])
        self.assertTrue(touch(m.address))
        self.fails(errno.ENODEV, Mapping, fd, PAGE)
        # what the kernel may still say of it
        self.reset(bdf)
        self.assertEqual(self.taker.error(bdf, Taker.RECOVERED), 0)
        self.assertEqual(donations(bdf), [])
        leaving = threading.Thread(target=detach, args=(bdf,))
        leaving.start()
        leaving.join(1)
        self.assertTrue(leaving.is_alive())
        self.taker.unpin()
        leaving.join(10)
        self.assertFalse(leaving.is_alive())
        m.unmap()
        os.close(fd)

    def test_a_function_that_is_lost(self):
        self.taken_away(self.bdf, self.name)
        self.name = bind(self.bdf)
        self.taken_away(self.both, self.bind_nvme("pmr"))
        fd = opened(self.bind_nvme("pmr"))
        Mapping(fd, PAGE).unmap()
        os.close(fd)

    def test_a_fatal_error(self):
        """QEMU has a root port report one: the kernel resets what is below."""
        root = [i for i in pci_functions(IVSHMEM) if port_above(i) == ROOT_PORT
                and os.path.exists(f"{PCI}{i}/../aer_rootport_total_err_fatal")]
        if not root:
            self.skipTest("this kernel doesn't look for errors of PCI Express")
        bdf, = root
        name = bind(bdf)
        fd, events = opened(name), Uevents()
        m = Mapping(fd, PAGE)
        monitor("pcie_aer_inject_error far-bar2 DLP")
        self.assertEqual([events.next(name, "OUTAGE") for _ in range(2)], ["begin", "end"])
        self.assertTrue(touch(m.address))
        m.unmap()
        m = Mapping(fd, PAGE)
        self.assertEqual(m[0:PAGE], bytes(PAGE))
        self.assertEqual(donation(bdf), name)
        m.unmap()
        os.close(fd)
        unbind(bdf)

    def lost(self, bdf, name, outage):
        """Volatile memory: whoever has some has it no more, but the device stays."""
        fd, events = opened(name), Uevents()
        m, region = Mapping(fd, PAGE), alloc(fd, 2 * PAGE)
        of_region, buf = Mapping(region, PAGE), export(region)
        mr, hold = self.new_key(m), self.taker.hold(of_region.address, PAGE)
        dmabuf = DmaBufMR(self.node.pds["pd"], PAGE, rdmanode.ALL, buf, 0)
        m.put(0, WORDS)

        def work():
            while True:
                ctypes.memset(m.address, 0, 8)

        writer = fork(work)
        outage(bdf)
        self.assertEqual(reap(writer), -signal.SIGBUS)
        self.assertEqual([events.next(name, "OUTAGE") for _ in range(2)], ["begin", "end"])
        for memory in m, of_region:
            address = memory.address
            child = fork(lambda address=address: ctypes.string_at(address, 1))
            self.assertEqual(reap(child), -signal.SIGBUS)
        self.dead(m.address, mr)
        self.dead(0, dmabuf)
        self.fails(errno.EIO, self.taker.read, hold, 0)
        self.taker.put(hold)
        # what is left of it can't be had anew
        self.fails(errno.EIO, Mapping, region, PAGE)
        self.fails(errno.EIO, export, region)
        self.fails(errno.EIO, self.taker.hold, of_region.address, PAGE)
        with self.assertRaises(PyverbsRDMAError):
            self.new_key(m)
        self.fails(errno.EIO, msync, m)
        msync(m)

        fresh = Mapping(fd, PAGE)
        self.assertEqual(fresh[0:PAGE], bytes(PAGE))
        again = self.new_key(fresh)
        self.other.fill("mine", WORDS)
        self.ask("WRITE", fresh.address, again.rkey, len(WORDS))
        self.assertEqual(fresh[0:len(WORDS)], WORDS)
        self.dead(m.address, mr)
        for key in mr, dmabuf, again:
            key.close()
        for memory in m, of_region, fresh:
            memory.unmap()
        close(fd, region, buf)
        self.assertEqual(available(name), int(attr(name, "size")))

    def test_a_reset_of_volatile_memory(self):
        self.lost(self.both, self.bind_nvme("cmb"), self.reset)
        self.lost(self.bdf, self.name, self.reset)

    @SLEEP
    def test_sleep_of_volatile_memory(self):
        self.lost(self.both, self.bind_nvme("cmb"), self.sleep)
        self.lost(self.bdf, self.name, self.sleep)


if __name__ == "__main__":
    main("p2pmem_bar", NVME_DRIVER, "p2pmem_taker", "p2pmem_importer", "srnic")
