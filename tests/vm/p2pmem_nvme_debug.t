#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --kernel debug --cpus 2 --donors pmr:16M,cmb:8M,both:16M,nvme,bar:16M,bar:16M --append iomem=relaxed --timeout 900
# The same where pages are of type PCI_P2PDMA, the kernel's nvme driver has the
# CMB too, and KASAN, lockdep and kmemleak watch.
exec /srnic/tests/vm/guest/p2pmem_suite.py nvme bars
