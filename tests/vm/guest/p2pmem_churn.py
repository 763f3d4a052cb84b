#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Donors and their memory, all that can become of both in random order, from 8
threads: tests/vm/tools/p2pmem_churn.c. Donors: bar, bar, 16 MiB each, of which each
makes two donations."""

import os
import re
import subprocess
import time
import unittest

from p2pmem_guest import (IVSHMEM, attr, attach, available, main, pci_functions, read,
                          unbind, write)

BARS = "/sys/module/p2pmem_bar/parameters/bars"
KEYS = "/sys/kernel/debug/srnic/srnic0/mpt"
REGIONS = "/sys/kernel/debug/p2pmem/{}/regions"
INDEX = '. /srnic/tests/vm/lib/lib.sh; wait_for 20 gid_index srnic0 "$MY_IP"'


def resources():
    """What srnic0 has, its table of keys included (not how old they are)."""
    shown = subprocess.run(["rdma", "resource", "show", "srnic0"], check=True,
                           capture_output=True, text=True).stdout
    return shown + re.sub(r" age \d+", "", read(KEYS))


class ChurnTest(unittest.TestCase):
    def setUp(self):
        subprocess.run("rdma link add srnic0 type srnic netdev eth0", shell=True,
                       check=True)
        self.bdfs = pci_functions(IVSHMEM)[:2]
        write(BARS, ",".join(f"{bdf}:2@{part}" for bdf in self.bdfs
                             for part in ("0+8M", "8M+8M")))
        self.names = [name for bdf in self.bdfs for name in attach("p2pmem_bar", bdf)]

    def tearDown(self):
        for bdf in self.bdfs:
            unbind(bdf)
        write(BARS, "\n")
        subprocess.run("rdma link del srnic0", shell=True, check=True)

    def test_everything_in_random_order(self):
        index = subprocess.run(["bash", "-c", INDEX], check=True, capture_output=True,
                               text=True).stdout.strip()
        before, start, cpu = resources(), time.monotonic(), os.times()
        seed = os.environ.get("SEED")
        done = subprocess.run(["p2pmem_churn", "-n", os.environ.get("ROUNDS", "10000"),
                               *(["-s", seed] if seed else []), "srnic0", index,
                               *self.bdfs], check=False, capture_output=True, text=True)
        spent = os.times()
        print("# " + done.stdout.rstrip().replace("\n", "\n# "))
        print(f"# {time.monotonic() - start:.1f} s; of CPU "
              f"{spent.children_user - cpu.children_user:.1f} s user, "
              f"{spent.children_system - cpu.children_system:.1f} s system", flush=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for name in self.names:
            self.assertEqual(available(name), int(attr(name, "size")))
            self.assertEqual(len(read(REGIONS.format(name)).split("\n")), 1)
        self.assertEqual(resources(), before)


if __name__ == "__main__":
    main("p2pmem_bar", "srnic", "ib_uverbs")
