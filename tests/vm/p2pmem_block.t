#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --cpus 2 --donors bar:16M,drive,drive,drive@root --append iomem=relaxed
# O_DIRECT between NVMe drives and a donor's memory, on Debian's kernel.
exec /srnic/tests/vm/guest/p2pmem_suite.py block
