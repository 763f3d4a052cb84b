#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --cpus 2 --donors bar:16M,bar:16M,testdev,edu,bar:4K,bar:64K
# /dev/p2pmemN, the in-kernel API and the BAR donor, on Debian's kernel.
exec /srnic/tests/vm/guest/p2pmem_suite.py mmap hold unplug persist refuse pins
