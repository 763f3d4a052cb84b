#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""All p2pmem tests of one boot, as one TAP stream. Donors: two bars, testdev,
edu, bar:4K. Each test program can be run alone as well.

p2pmem_suite.py PROGRAM[:CLASS]... generic NAME=VALUE... PROGRAM...: those behind
"generic" with p2pmem's pages for kernels without P2PDMA, on one that has it
(scripts/vm --generic)."""

import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
KMEMLEAK = "/sys/kernel/debug/kmemleak"
GENERIC = "/usr/lib/srnic-vm/generic/p2pmem.ko"


class Sum:
    """One plan for all of them."""

    def __init__(self):
        self.number = 0
        self.kind = ""

    def line(self, good, what):
        self.number += 1
        print(f"{'ok' if good else 'not ok'} {self.number} - {self.kind}{what}", flush=True)

    def program(self, name):
        """Run one, pass its lines on; it must keep its own plan."""
        planned, seen, start = 0, 0, time.monotonic()
        name, *classes = name.split(":")
        with subprocess.Popen([f"{HERE}/p2pmem_{name}.py", *classes], text=True,
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
        print(f"# {time.monotonic() - start:.0f} s", flush=True)


def unload():
    """All that is ours; whether that was possible."""
    return subprocess.run(["modprobe", "-r", "p2pmem_taker", "p2pmem_importer", "p2pmem_bar",
                           "p2pmem_nvme", "srnic", "p2pmem"], check=False).returncode == 0


def go_generic():
    """Whoever loads p2pmem from now on gets the other one."""
    done = subprocess.run(f"mount --bind {GENERIC} $(modinfo -n p2pmem)", shell=True, check=False)
    return done.returncode == 0


def went_generic():
    """By what the latest donation has said of itself."""
    log = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    return re.findall(r" (\w+) pages, donor", log)[-1:] == ["generic"]


def kmemleak():
    """What it finds after two scans (it takes an object for lost only when it
    is some seconds old)."""
    for _ in range(2):
        time.sleep(6)
        with open(KMEMLEAK, "w", encoding="ascii") as file:
            file.write("scan\n")
    with open(KMEMLEAK, encoding="ascii") as file:
        return file.read()


def main(*programs):
    """Run them, unload the modules, look for leaks where the kernel can."""
    total = Sum()
    for name in programs:
        if name == "generic":
            total.line(unload() and go_generic(), "the other p2pmem")
            total.kind = "generic "
        elif "=" in name:
            os.environ.update([name.split("=")])
        else:
            total.program(name)
    if total.kind:
        total.line(went_generic(), "that is what these ran with")
    total.line(unload(), "the modules can be unloaded")
    if os.path.exists(KMEMLEAK):
        leaks = kmemleak()
        for line in leaks.splitlines()[:60]:
            print("# " + line)
        # the modules are gone, so it can't be told whose a lost object was
        total.line(not leaks.strip(), "kmemleak finds nothing")
    print(f"1..{total.number}")


if __name__ == "__main__":
    main(*sys.argv[1:])
