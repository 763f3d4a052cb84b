#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --cpus 2 --donors bar:16M,bar:16M@root,bar:16M,bar:16M@root,bar:16M@host --timeout 900
# Which client may use which donor; what can be seen of it; memory for kernel
# code; the figures. On Debian's kernel. Two donors share the switch with eth0,
# two are on root
# ports of their own, one is below another host bridge.
exec /srnic/tests/vm/guest/p2pmem_suite.py rules srnic_rules find figures
