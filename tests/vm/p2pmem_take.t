#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --cpus 2 --donors bar:16M,bar:16M@root
# Regions, limits, flush, distance and dma-bufs, on Debian's kernel.
exec /srnic/tests/vm/guest/p2pmem_suite.py take limits dmabuf tool
