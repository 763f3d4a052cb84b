#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --kernel debug --cpus 2 --donors bar:16M,bar:16M@root --timeout 1200
# The same where pages are of type PCI_P2PDMA, allocations can be made to fail,
# and KASAN, lockdep and kmemleak watch.
export SECONDS_OF_STRESS=6 ROUNDS=500
exec /srnic/tests/vm/guest/p2pmem_suite.py take dmabuf fail
