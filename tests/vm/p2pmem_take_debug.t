#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --kernel debug --cpus 2 --donors bar:16M,bar:16M@root,bar:16M,bar:16M@root,bar:16M@host,drive,drive,drive@root --append iomem=relaxed --env UNPLUG_ROUNDS --timeout 1200
# p2pmem_take.t, p2pmem_rules.t and p2pmem_block.t under KASAN, lockdep and kmemleak,
# with pages of type PCI_P2PDMA; and each way for a donor to go under each load, twice
# (UNPLUG_ROUNDS; "make unplug": 20 times). That allocations fail is p2pmem_debug.t's.
export SECONDS_OF_STRESS=6 ROUNDS=500
exec /srnic/tests/vm/guest/p2pmem_suite.py take limits dmabuf rules srnic_rules find block churn unplug_loads
