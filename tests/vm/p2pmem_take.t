#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --cpus 2 --donors bar:16M,bar:16M@root
# Regions, limits, flush, distance and dma-bufs; 10^4 rounds of everything in random
# order, on Debian's kernel.
exec /srnic/tests/vm/guest/p2pmem_suite.py take limits dmabuf churn tool
