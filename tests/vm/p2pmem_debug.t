#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# vm: --kernel debug --cpus 2 --donors bar:16M,bar:16M,testdev,edu,bar:4K --timeout 1200
"""All p2pmem tests again in one boot of the debug kernel, where pages are of
type PCI_P2PDMA and KASAN, lockdep and kmemleak watch."""

import os
import re
import subprocess
import time

HERE = os.path.dirname(os.path.realpath(__file__))
TESTS = ("mmap", "hold", "unplug", "persist", "refuse", "pins", "fail")
KMEMLEAK = "/sys/kernel/debug/kmemleak"


class Sum:
    """One plan for all of them."""

    def __init__(self):
        self.number = 0

    def line(self, good, what):
        self.number += 1
        print(f"{'ok' if good else 'not ok'} {self.number} - {what}", flush=True)

    def program(self, name):
        """Run one, pass its lines on; it must keep its own plan."""
        planned = seen = 0
        with subprocess.Popen([f"{HERE}/p2pmem_{name}.t"], text=True,
                              stdout=subprocess.PIPE) as program:
            for line in program.stdout:
                if plan := re.match(r"1\.\.(\d+)", line):
                    planned = int(plan[1])
                elif test := re.match(r"(not )?ok \d+ - (.*)", line):
                    seen += 1
                    self.line(not test[1], f"{name}: {test[2]}")
                else:
                    print("# " + line.rstrip(), flush=True)
        self.line(planned and planned == seen, f"{name}: ran to its end")


def kmemleak():
    """What it finds after two scans (it takes an object for lost only when it
    is some seconds old)."""
    for _ in range(2):
        time.sleep(6)
        with open(KMEMLEAK, "w", encoding="ascii") as file:
            file.write("scan\n")
    with open(KMEMLEAK, encoding="ascii") as file:
        return file.read()


def main():
    os.environ.setdefault("ROUNDS", "500")
    total = Sum()
    for name in TESTS:
        total.program(name)
    gone = subprocess.run(["modprobe", "-r", "p2pmem_taker", "p2pmem_bar",
                           "p2pmem"], check=False).returncode == 0
    total.line(gone, "the modules can be unloaded")
    leaks = kmemleak()
    for line in leaks.splitlines()[:60]:
        print("# " + line)
    total.line("p2pmem" not in leaks, "kmemleak finds nothing of ours")
    print(f"1..{total.number}")


if __name__ == "__main__":
    main()
