#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""p2pmem_bar's parameter 'bars': parts of BARs, several BARs, several
functions. Donors: bar:16M, bar:16M, both:16M (whose two BARs a test switches on
by hand). The kernel has iomem=relaxed."""

import errno
import os
import struct
import subprocess
import unittest

from p2pmem_guest import (IVSHMEM, NVME, PCI, Bar, Mapping, Taker, attach, attr,
                          available, detach, donations, log_mark, log_since, main, opened,
                          pci_functions, read, write)

DRIVER = "p2pmem_bar"
BARS = "/sys/module/p2pmem_bar/parameters/bars"
BAR = "/sys/module/p2pmem_bar/parameters/bar"
MIB = 1 << 20


class BarsTest(unittest.TestCase):
    def setUp(self):
        self.one, self.two = pci_functions(IVSHMEM)[:2]

    def tearDown(self):
        for bdf in pci_functions(IVSHMEM) + pci_functions(NVME):
            detach(bdf)
        write(BARS, "\n")
        write(BAR, "-1")

    def donated(self, bdf):
        return [(int(attr(n, "size")) // MIB, attr(n, "persistent"))
                for n in attach(DRIVER, bdf)]

    def test_parts_of_a_bar(self):
        before = Bar(self.one, 2).map[0:16 * MIB]
        write(BARS, f"{self.one}:2@2M+4M,{self.one}:2@0x800000+2M:persistent,{self.one}:2@12M")
        self.assertEqual(self.donated(self.one), [(4, "0"), (2, "1"), (4, "0")])

        first, second, third = (Mapping(opened(n), int(attr(n, "size")))
                                for n in donations(self.one))
        for m, byte in ((first, b"1"), (second, b"2"), (third, b"3")):
            m.put(0, byte * m.length)
        all_of_it = Bar(self.one, 2).map[0:16 * MIB]
        for byte, start, end in ((b"1", 2, 6), (b"2", 8, 10), (b"3", 12, 16)):
            self.assertEqual(all_of_it.count(byte, start * MIB, end * MIB), (end - start) * MIB)
        for start, end in ((0, 2), (6, 8), (10, 12)):
            self.assertTrue(all_of_it[start * MIB:end * MIB] == before[start * MIB:end * MIB])
        for m in (first, second, third):
            m.unmap()

    def test_donated_again(self):
        """While one driver is bound, as none of ours does: the same range, and parts
        of it. The P2PDMA kernel keeps pages that it has made until the driver goes."""
        write(BARS, f"{self.one}:2@0+2M")
        attach(DRIVER, self.one)
        taker = Taker()
        for start, size in ((4, 8), (4, 8), (8, 4), (6, 2), (4, 8)):
            name = taker.donate(self.one, 2, start * MIB, size * MIB)
            m = Mapping(opened(name), size * MIB)
            m.put(size * MIB - 8, struct.pack("<II", start, size))
            m.unmap()
            self.assertEqual(available(name), size * MIB)
            taker.withdraw()
            at = (start + size) * MIB - 8
            self.assertEqual(Bar(self.one, 2).map[at:at + 8], struct.pack("<II", start, size))
        # some of it has pages, some has none
        mark = log_mark("p2pmem test: again")
        try:
            taker.donate(self.one, 2, 10 * MIB, 4 * MIB)
        except OSError as e:
            self.assertEqual(e.errno, errno.EBUSY)
            self.assertTrue(os.path.exists(PCI + self.one + "/p2pmem"))
            self.assertIn("until the driver is unbound", " ".join(log_since(mark)))
        taker.close()
        detach(self.one)
        write(BARS, f"{self.one}:2@10M+4M")
        self.assertEqual(self.donated(self.one), [(4, "0")])

    def test_two_functions(self):
        write(BARS, f"{self.one}:2@0+2M,{self.two}:2:persistent")
        self.assertEqual(self.donated(self.one), [(2, "0")])
        self.assertEqual(self.donated(self.two), [(16, "1")])
        for bdf in (self.one, self.two):
            for name in donations(bdf):
                self.assertEqual(available(name), int(attr(name, "size")))

    def test_two_bars_of_a_function(self):
        both = pci_functions(NVME)[2]
        detach(both)
        regs = Bar(both, 0)
        regs.put32(0x50, 1)  # CMBMSC.CRE
        regs.put32(0xe04, 1)  # PMRCTL.EN
        write(BARS, f"{both}:4:persistent,{both}:2@0+2M,{both}:2@2M")
        self.assertEqual(self.donated(both), [(16, "1"), (2, "0"), (2, "0")])
        detach(both)
        self.assertEqual(donations(both), [])
        self.assertEqual(self.donated(both), [(16, "1"), (2, "0"), (2, "0")])
        detach(both)
        regs.put32(0xe04, 0)
        regs.put32(0x50, 0)

    def test_who_is_not_named_gets_what_it_got(self):
        write(BARS, f"{self.one}:2@0+2M")
        self.assertEqual(self.donated(self.two), [(16, "0")])

    def test_bars_goes_before_bar(self):
        write(BAR, "0")
        write(BARS, f"{self.one}:2@0+2M")
        self.assertEqual(self.donated(self.one), [(2, "0")])

    def test_read_back(self):
        self.assertEqual(read(BARS), "")
        short = self.one.removeprefix("0000:")
        write(BARS, f"{short}:2@2M+4M:persistent,{self.two}:2\n")
        want = f"{self.one}:2@0x200000+0x400000:persistent,{self.two}:2"
        self.assertEqual(read(BARS), want)
        write(BARS, want)
        self.assertEqual(read(BARS), want)

    def mistaken(self, text, *words):
        mark = log_mark(f"p2pmem test: {text[:40]}")
        with self.assertRaises(OSError) as e:
            write(BARS, text)
        self.assertEqual(e.exception.errno, errno.EINVAL)
        lines = log_since(mark)
        self.assertEqual(len(lines), 1, lines)
        for word in ("p2pmem_bar: bars: '", "refused, nothing is changed:") + words:
            self.assertIn(word, lines[0])

    def test_mistakes(self):
        good = f"{self.one}:2@0x200000+0x400000"
        write(BARS, good)
        for text, words in ((f"{self.two}:7", "number of a BAR"),
                            ("eth0:2", "no PCI address such as"),
                            (f"{self.two}:2@x", "the offset behind '@'"),
                            (f"{self.two}:2@2M+0", "the length behind '+'"),
                            (f"{self.two}:2:durable", "'persistent'"),
                            (f"{self.two}:2@1+0xffffffffffffffff", "64 bits"),
                            (f"{self.two}:2 persistent", "BDF:BAR[@OFFSET[+LENGTH]]")):
            self.mistaken(text, f"'{text}'", words)
        self.mistaken(f"{self.two}:2@0+4M,{self.two}:2@2M", f"'{self.two}:2@2M'", "in common")
        self.mistaken(",".join(f"{i:x}:00.0:2" for i in range(33)), "'20:00.0:2'", "32 entries")
        self.assertEqual(read(BARS), good)

    def refused(self, text, *words):
        """All or nothing: a good entry is in front of the bad one."""
        write(BARS, f"{self.one}:2@0+2M,{self.one}:{text}")
        mark = log_mark(f"p2pmem test: {text}")
        with self.assertRaises(OSError) as e:
            attach(DRIVER, self.one)
        self.assertEqual(e.exception.errno, errno.ENODEV)
        self.assertEqual(donations(self.one), [])
        lines = [i for i in log_since(mark) if "refused" in i or "no memory BAR" in i]
        self.assertEqual(len(lines), 1, lines)
        for word in words:
            self.assertIn(word, lines[0])

    def test_what_the_bar_does_not_have(self):
        self.refused("2@14M+4M", "BAR 2 refused", "4194304 bytes at 0xe00000",
                     "not within its 16777216")
        self.refused("2@16M", "BAR 2 refused", "not within its 16777216")
        self.refused("2@0x8000000000000000+0x7fffffffffffffff", "BAR 2 refused", "not within")
        self.refused("2@3M+2M", "BAR 2 refused", "multiple of 2 MiB")
        self.refused("2@4M+1M", "BAR 2 refused", "multiple of 2 MiB")
        self.refused("3", "BAR 3, as the parameter 'bars' says, is no memory BAR")
        # and nothing of it is left behind
        write(BARS, f"{self.one}:2@0+2M,{self.one}:2@2M+2M")
        self.assertEqual(self.donated(self.one), [(2, "0"), (2, "0")])

    def test_what_modprobe_is_told(self):
        subprocess.run(["rmmod", DRIVER], check=True)
        done = subprocess.run(["modprobe", DRIVER, f"bars={self.one}:9"], check=False,
                              capture_output=True)
        self.assertNotEqual(done.returncode, 0)
        subprocess.run(["modprobe", DRIVER, f"bars={self.one}:2@4M+2M,{self.one}:2@8M+2M"],
                       check=True)
        self.assertEqual(self.donated(self.one), [(2, "0"), (2, "0")])
        self.assertTrue(os.path.exists(PCI + self.one + "/driver"))


if __name__ == "__main__":
    main(DRIVER, "p2pmem_taker")
