#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The guest's part of p2pmem_outside.t. Donors: bar (volatile), bar
(persistent). STEP is 'write' or 'read'."""

import os
import subprocess
import sys

from p2pmem_guest import (IVSHMEM, Mapping, bind, opened, pci_functions,
                          write)

PARAMETER = "/sys/module/p2pmem_bar/parameters/persistent"
PLACE = 12 << 20
INSIDE = (1 << 20) + 4091


def main():
    pattern = os.environ["PATTERN"].encode()
    subprocess.run(["modprobe", "p2pmem_bar"], check=True)
    volatile, persistent = pci_functions(IVSHMEM)[:2]
    write(PARAMETER, "1")
    lasting = Mapping(opened(bind(persistent)), 2 << 20, offset=PLACE)

    if os.environ["STEP"] == "read":
        found = lasting[INSIDE:INSIDE + len(pattern)]
        sys.exit(0 if found == pattern else f"found {found!r}")

    lasting.put(INSIDE, pattern)
    write(PARAMETER, "0")
    m = Mapping(opened(bind(volatile)), 2 << 20)
    m.put(INSIDE, pattern)
    if m.place() + (2 << 20) > PLACE:
        sys.exit(f"a first mapping at {m.place():#x}?")


if __name__ == "__main__":
    main()
