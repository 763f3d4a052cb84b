#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --kernel debug --cpus 2 --donors bar:16M,bar:16M,testdev,edu,bar:4K,bar:64K,pmr:16M,cmb:8M,both:16M,nvme,drive --append iomem=relaxed --timeout 1200
# p2pmem.t and p2pmem_nvme.t where pages are of type PCI_P2PDMA (which no driver may
# pin for long), the kernel's nvme driver has the CMB too and publishes it, allocations
# can be made to fail, and KASAN, lockdep and kmemleak watch.
export ROUNDS=500
exec /srnic/tests/vm/guest/p2pmem_suite.py mmap hold unplug persist refuse fail fail_import adopt nvme bars \
	outage
