#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --kernel debug --cpus 2 --donors bar:16M,bar:16M,testdev,edu,bar:4K --timeout 1200
# The same where pages are of type PCI_P2PDMA (which no driver may pin for
# long), allocations can be made to fail, and KASAN, lockdep and kmemleak watch.
export ROUNDS=500
exec /srnic/tests/vm/guest/p2pmem_suite.py mmap hold unplug persist refuse fail
