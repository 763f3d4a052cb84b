#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --cpus 2 --donors pmr:16M,cmb:8M,both:16M,nvme,bar:16M,bar:16M,bar:16M@root --append iomem=relaxed
# What donors donate: an NVMe controller's CMB and PMR (p2pmem_nvme), and any
# part of any BAR (p2pmem_bar's parameter 'bars'); what happens to it in a reset, in
# suspend and in errors on the bus; every size of RDMA into each kind and out of it.
# On Debian's kernel.
exec /srnic/tests/vm/guest/p2pmem_suite.py nvme bars outage sizes
