#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""BARs that can't serve get one line. Donors: bar:4K, bar:64K, testdev, edu, bar."""

import errno
import unittest

from p2pmem_guest import (DRIVER, EDU, IVSHMEM, PCI, TESTDEV, attr, bind,
                          bound, log_mark, log_since, main, pci_functions,
                          read, unbind, write)

PARAMETERS = "/sys/module/p2pmem_bar/parameters/"


def bar_size(bdf):
    start, end, _ = read(PCI + bdf + "/resource").split("\n")[2].split()
    return int(end, 16) - int(start, 16) + 1


def sized(size):
    return next(bdf for bdf in pci_functions(IVSHMEM) if bar_size(bdf) == size)


def large():
    return max(pci_functions(IVSHMEM), key=bar_size)


class RefuseTest(unittest.TestCase):
    def tearDown(self):
        write(PARAMETERS + "bar", "-1")

    def refused(self, bdf, *words):
        mark = log_mark(f"p2pmem test: {self.id()}")
        with self.assertRaises(OSError) as e:
            bind(bdf)
        self.assertEqual(e.exception.errno, errno.ENODEV)
        lines = [i for i in log_since(mark) if "enabling device" not in i]
        self.assertEqual(len(lines), 1, lines)
        for word in words:
            self.assertIn(word, lines[0])
        self.assertFalse(bound(bdf))

    def test_nothing_behind(self):
        self.refused(pci_functions(TESTDEV)[0], "BAR 2 refused",
                     "no memory behind it")

    def test_4k(self):
        self.refused(sized(4 << 10), "BAR 2 refused", "4096 bytes", "multiple of 2 MiB")

    def test_64k(self):
        self.refused(sized(64 << 10), "BAR 2 refused", "65536 bytes", "multiple of 2 MiB")

    def test_registers(self):
        self.refused(pci_functions(EDU)[0], "BAR 0 refused", "1048576 bytes")

    def test_a_small_bar_by_number(self):
        write(PARAMETERS + "bar", "0")
        self.refused(large(), "BAR 0 refused")

    def test_no_such_bar_by_number(self):
        for i in (1, 3):
            write(PARAMETERS + "bar", str(i))
            self.refused(large(), f"BAR {i},", "no memory BAR")
        for i in ("6", "4711", "-2", "two"):
            with self.assertRaises(OSError) as e:
                write(PARAMETERS + "bar", i)
            self.assertEqual(e.exception.errno, errno.EINVAL)

    def test_a_bar_by_number(self):
        bdf = large()
        write(PARAMETERS + "bar", "2")
        name = bind(bdf)
        self.assertEqual(attr(name, "size"), str(bar_size(bdf)))
        unbind(bdf)

    def test_what_is_chosen_is_told(self):
        bdf = large()
        mark = log_mark("p2pmem test: chosen")
        name = bind(bdf)
        lines = " ".join(log_since(mark))
        self.assertIn(f"{bar_size(bdf) >> 20} MiB from BAR 2 of {bdf}", lines)
        self.assertIn("BAR 2 (its largest memory BAR)", lines)
        self.assertEqual(attr(name, "available"), attr(name, "size"))
        unbind(bdf)

    def test_new_id(self):
        bdf = large()
        write(PCI + bdf + "/driver_override", "\n")
        # binds what it can of that kind: the 4 KiB one is refused
        write(DRIVER + "new_id", "1af4 1110")
        self.assertTrue(bound(bdf))
        write(DRIVER + "remove_id", "1af4 1110")
        for i in pci_functions(IVSHMEM):
            if bound(i):
                unbind(i)


if __name__ == "__main__":
    main("p2pmem_bar")
