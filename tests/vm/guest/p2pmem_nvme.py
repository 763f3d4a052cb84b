#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""An NVMe controller's memory. Donors: pmr:16M, cmb:8M, both:16M, nvme, and a
bar. The kernel has iomem=relaxed: the tests look at registers, and switch
things off, behind the driver's back."""

import ctypes
import errno
import json
import os
import re
import select
import signal
import socket
import subprocess
import threading
import time
import unittest

from p2pmem_guest import (IVSHMEM, NVME, PAGE, PCI, Bar, Mapping, Taker, attach,
                          attr, available, detach, donations, fork, libc,
                          log_mark, log_since, main, opened, pci_functions, read,
                          reap, wait_for, write)

DRIVER = "p2pmem_nvme"
MIB = 1 << 20
MS_SYNC = 4
# NVMe base specification 2.0, 3.1.3
CMBMSC, PMRCTL, PMRSTS = 0x50, 0xe04, 0xe08
CRE, CMSE, EN, NRDY = 1, 2, 1, 0x100
WHERE = {"cap": (0, 8), "vs": (8, 4), "cmbloc": (0x38, 4), "cmbsz": (0x3c, 4),
         "cmbmsc": (0x50, 8), "cmbsts": (0x58, 4), "pmrcap": (0xe00, 4),
         "pmrctl": (0xe04, 4), "pmrsts": (0xe08, 4), "pmrebs": (0xe0c, 4),
         "pmrswtp": (0xe10, 4)}
CMB_NAMES = {"cmbloc", "cmbsz", "cmbmsc", "cmbsts"}
PMR_NAMES = {"pmrcap", "pmrctl", "pmrsts", "pmrebs", "pmrswtp"}


def functions():
    """pmr, cmb, both and neither, in the order of --donors (a drive may follow)."""
    return pci_functions(NVME)[:4]


def bind(bdf):
    """Returns {kind: name}."""
    return {attr(name, "kind"): name for name in attach(DRIVER, bdf)}


def registers(bdf):
    """What the driver shows, as {name: value}."""
    return {name: int(read(f"{PCI}{bdf}/{name}").split("\n")[0], 16)
            for name in WHERE if os.path.exists(f"{PCI}{bdf}/{name}")}


def fields(bdf, name):
    """The lines below a register's value."""
    return dict(line.split(" ", 1) for line in read(f"{PCI}{bdf}/{name}").split("\n")[1:])


def raw(bdf):
    """The same registers, read by nobody's code but this."""
    bar = Bar(bdf, 0)
    return {name: bar.u32(at) | (bar.u32(at + 4) << 32 if size == 8 else 0)
            for name, (at, size) in WHERE.items()}


def show_regs(bdf):
    """What nvme-cli reads while the kernel's own nvme driver has the function."""
    subprocess.run(["modprobe", "nvme"], check=True)
    if not os.path.exists(PCI + bdf + "/nvme"):
        attach("nvme", bdf)
    assert wait_for(lambda: os.path.exists(PCI + bdf + "/nvme"), 20)
    name = os.listdir(PCI + bdf + "/nvme")[0]
    assert wait_for(lambda: read(f"/sys/class/nvme/{name}/state") == "live", 20)
    # a kernel that has no use for a CMB switches its registers off again, and
    # none has a use for a PMR
    bar = Bar(bdf, 0)
    bar.put32(CMBMSC, bar.u32(CMBMSC) | CRE)
    bar.put32(PMRCTL, EN)
    out = subprocess.run(["nvme", "show-regs", "-o", "json", "/dev/" + name],
                         check=True, capture_output=True, text=True).stdout
    detach(bdf)
    return json.loads(out)


class Uevents:
    """The kernel's messages to udev."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 15)
        self.socket.bind((0, 1))

    def next(self, name, key, seconds=10):
        """The next P2PMEM_<key> of a p2pmemN, None if there is none."""
        key = f"P2PMEM_{key}="
        end = time.monotonic() + seconds
        while select.select([self.socket], [], [], max(0, end - time.monotonic()))[0]:
            words = self.socket.recv(8192).decode().split("\0")
            found = [w for w in words if w.startswith(key)]
            if words[0] == "change@" + self._path(name) and found:
                return found[0][len(key):]
        return None

    def health(self, name, seconds=10):
        return self.next(name, "HEALTH", seconds)

    @staticmethod
    def _path(name):
        return os.path.realpath("/sys/class/p2pmem/" + name)[len("/sys"):]


class NvmeTest(unittest.TestCase):
    def setUp(self):
        subprocess.run(["modprobe", DRIVER], check=True)
        self.pmr, self.cmb, self.both, self.neither = functions()

    def tearDown(self):
        for bdf in functions():
            detach(bdf)

    def test_what_is_donated(self):
        for bdf, want in ((self.pmr, {"pmr": 16}), (self.cmb, {"cmb": 8}),
                          (self.both, {"cmb": 4, "pmr": 16})):
            names = bind(bdf)
            self.assertEqual(set(names), set(want))
            for kind, name in names.items():
                self.assertEqual(int(attr(name, "size")), want[kind] * MIB)
                self.assertEqual(available(name), want[kind] * MIB)
                self.assertEqual(attr(name, "persistent"), str(int(kind == "pmr")))
                self.assertTrue(os.path.exists("/dev/" + name))

    def test_registers_are_those_of_show_regs(self):
        for bdf, names in ((self.pmr, PMR_NAMES), (self.cmb, CMB_NAMES),
                           (self.both, PMR_NAMES | CMB_NAMES)):
            theirs = show_regs(bdf)
            bind(bdf)
            ours = registers(bdf)
            self.assertEqual(set(ours), names | {"cap", "vs"})
            # but for the address that each driver chooses for the CMB
            for name in set(ours) - {"cmbmsc"}:
                self.assertEqual(ours[name], theirs[name], name)

    def test_registers_are_read_anew(self):
        bind(self.both)
        self.assertEqual(registers(self.both), raw(self.both))
        Bar(self.both, 0).put32(PMRCTL, 0)
        self.assertEqual(registers(self.both)["pmrctl"], 0)
        self.assertEqual(registers(self.both)["pmrsts"], NRDY)
        self.assertEqual(registers(self.both), raw(self.both))

    def test_fields(self):
        bind(self.both)
        self.assertEqual(fields(self.both, "cap")["PMRS"], "1")
        self.assertEqual(fields(self.both, "vs"), {"MJR": "1", "MNR": "4", "TER": "0"})
        self.assertEqual(fields(self.both, "cmbloc")["BIR"], "2")
        sizes = fields(self.both, "cmbsz")
        self.assertEqual((sizes["RDS"], sizes["WDS"]), ("1", "1"))
        self.assertEqual(sizes["SZ"].split()[0], str(4 * MIB))
        switch = fields(self.both, "cmbmsc")
        self.assertEqual((switch["CRE"], switch["CMSE"]), ("1", "1"))
        start = read(PCI + self.both + "/resource").split("\n")[2].split()[0]
        self.assertEqual(int(switch["CBA"], 16), int(start, 16))
        caps = fields(self.both, "pmrcap")
        self.assertEqual((caps["BIR"], caps["PMRWBM"]), ("4", "0x2 (a read of PMRSTS)"))
        self.assertEqual(fields(self.both, "pmrctl")["EN"], "1")
        self.assertEqual(fields(self.both, "pmrsts")["health"], "ok")

    def test_off_when_unbound(self):
        bind(self.both)
        now = raw(self.both)
        self.assertEqual((now["cmbmsc"] & (CRE | CMSE), now["pmrctl"]), (CRE | CMSE, EN))
        detach(self.both)
        now = raw(self.both)
        self.assertEqual((now["cmbmsc"], now["cmbsz"], now["pmrctl"]), (0, 0, 0))
        self.assertFalse(os.path.exists(PCI + self.both + "/cmbsz"))

    def test_the_bytes_are_in_the_device(self):
        names = bind(self.both)
        pmr = Mapping(opened(names["pmr"]), 2 * MIB, offset=6 * MIB)
        cmb = Mapping(opened(names["cmb"]), MIB)
        pmr.put(4091, b"persistent bytes")
        cmb.put(4091, b"volatile bytes")
        place = cmb.place()
        self.assertEqual(libc.msync(pmr.address, 2 * MIB, MS_SYNC), 0)
        detach(self.both)
        pmr.unmap()
        cmb.unmap()
        regs = Bar(self.both, 0)
        regs.put32(PMRCTL, EN)
        inside = 6 * MIB + 4091
        self.assertEqual(Bar(self.both, 4).map[inside:inside + 16], b"persistent bytes")
        inside = place + 4091
        self.assertEqual(Bar(self.both, 2).map[inside:inside + 14], b"volatile bytes")
        regs.put32(PMRCTL, 0)

    def test_bound_again(self):
        fd = opened(bind(self.pmr)["pmr"])
        m = Mapping(fd, PAGE, offset=5 * MIB)
        m.put(0, b"still there")
        m.unmap()
        os.close(fd)
        for _ in range(5):
            detach(self.pmr)
            self.assertEqual(donations(self.pmr), [])
            names = bind(self.pmr)
        m = Mapping(opened(names["pmr"]), PAGE, offset=5 * MIB)
        self.assertEqual(m[0:11], b"still there")
        m.unmap()

    def test_unbound_under_a_program(self):
        names = bind(self.both)
        maps = [Mapping(opened(name), MIB) for name in names.values()]
        detach(self.both)
        for m in maps:
            pid = fork(lambda m=m: ctypes.string_at(m.address, 1))
            self.assertEqual(reap(pid), -signal.SIGBUS)
            m.unmap()
        for name in bind(self.both).values():
            self.assertEqual(available(name), int(attr(name, "size")))

    def test_zeroing_does_not_hold_the_donor_up(self):
        """Each store to a CMB is the emulator's business: 8 MiB of them take long."""
        name = bind(self.cmb)["cmb"]
        fd, errors = opened(name), []

        def work():
            try:
                Mapping(fd, 8 * MIB).unmap()
            except OSError as e:
                errors.append(e.errno)

        t = threading.Thread(target=work)
        t.start()
        self.assertTrue(wait_for(lambda: available(name) == 0))
        detach(self.cmb)
        t.join()
        os.close(fd)
        # it was told in the middle of it
        self.assertEqual(errors, [errno.ENODEV])

    def test_rmmod_under_a_program(self):
        m = Mapping(opened(bind(self.pmr)["pmr"]), MIB)
        subprocess.run(["rmmod", DRIVER], check=True)
        self.assertEqual(reap(fork(lambda: ctypes.string_at(m.address, 1))), -signal.SIGBUS)
        self.assertEqual(Bar(self.pmr, 0).u32(PMRCTL), 0)
        m.unmap()

    def test_unplugged_under_a_program(self):
        maps = [Mapping(opened(name), MIB) for name in bind(self.both).values()]
        bridge = os.path.realpath(PCI + self.both + "/..")
        write(PCI + self.both + "/remove", "1")
        for m in maps:
            pid = fork(lambda m=m: ctypes.string_at(m.address, 1))
            self.assertEqual(reap(pid), -signal.SIGBUS)
            m.unmap()
        write(bridge + "/rescan", "1")
        self.assertTrue(wait_for(lambda: os.path.exists(PCI + self.both)))
        self.assertEqual(set(bind(self.both)), {"cmb", "pmr"})

    def test_not_ready_is_not_durable(self):
        """The PMR goes off behind the driver's back, and comes back."""
        name = bind(self.pmr)["pmr"]
        fd = opened(name)
        m = Mapping(fd, PAGE, offset=PAGE)
        taker = Taker()
        hold = taker.hold(m.address, PAGE)
        taker.persist(hold, 0, 64)
        regs, events = Bar(self.pmr, 0), Uevents()
        mark = log_mark("p2pmem test: health")

        regs.put32(PMRCTL, 0)
        self.assertEqual(events.health(name), "not-ready")
        self.assertIn("health not-ready", read(PCI + self.pmr + "/pmrsts"))
        self.assertEqual(libc.msync(m.address, PAGE, MS_SYNC), -1)
        self.assertEqual(ctypes.get_errno(), errno.EIO)
        with self.assertRaises(OSError) as e:
            taker.persist(hold, 0, 64)
        self.assertEqual(e.exception.errno, errno.EIO)
        lines = "\n".join(log_since(mark))
        self.assertIn(f"{name}: health: not-ready", lines)
        self.assertIn("4096 bytes at 0x1000 may not be durable: health 'not-ready'", lines)

        regs.put32(PMRCTL, EN)
        self.assertEqual(events.health(name), "ok")
        # once more: something may have been written after they were told
        self.assertEqual(libc.msync(m.address, PAGE, MS_SYNC), -1)
        self.assertEqual(ctypes.get_errno(), errno.EIO)
        with self.assertRaises(OSError) as e:
            taker.persist(hold, 0, 64)
        self.assertEqual(e.exception.errno, errno.EIO)
        self.assertEqual(libc.msync(m.address, PAGE, MS_SYNC), 0)
        taker.persist(hold, 0, 64)
        taker.put(hold)
        taker.close()
        m.unmap()
        os.close(fd)

    def test_a_failed_persist_is_told_at_once(self):
        name = bind(self.pmr)["pmr"]
        m = Mapping(opened(name), PAGE)
        regs, events = Bar(self.pmr, 0), Uevents()
        regs.put32(PMRCTL, 0)
        self.assertEqual(libc.msync(m.address, PAGE, MS_SYNC), -1)
        # the watch looks once a second, the first time one after the bind
        self.assertEqual(events.health(name, 0.5), "not-ready")
        m.unmap()

    def refused(self, bdf, words):
        mark = log_mark(f"p2pmem test: {self.id()}")
        with self.assertRaises(OSError) as e:
            attach(DRIVER, bdf)
        self.assertEqual(e.exception.errno, errno.ENODEV)
        lines = [i for i in log_since(mark) if re.search("p2pmem", i)]
        self.assertEqual(len(lines), 1, lines)
        self.assertIn(words, lines[0])
        self.assertEqual(donations(bdf), [])

    def test_neither_is_refused(self):
        self.refused(self.neither, "nothing to donate: the controller has neither a Controller "
                     "Memory Buffer nor a Persistent Memory Region")

    def test_no_nvme_is_refused(self):
        self.refused(pci_functions(IVSHMEM)[0], "no registers in BAR 0 (256 bytes)")

    def test_nothing_binds_by_itself(self):
        for bdf in functions():
            write(PCI + bdf + "/driver_override", "\n")
            write("/sys/bus/pci/drivers_probe", bdf)
            driver = os.path.basename(os.path.realpath(PCI + bdf + "/driver"))
            self.assertIn(driver, ("nvme", "driver"))


if __name__ == "__main__":
    main(DRIVER, "p2pmem_taker")
