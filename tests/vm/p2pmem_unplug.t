#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --cpus 1 --donors bar:16M,bar:16M,drive,drive --env UNPLUG_ROUNDS
# Each of the four ways for a donor to go under each of the four loads, on Debian's
# kernel; with one CPU, as device_del asks for (p2pmem_unplug_loads.py).
exec /srnic/tests/vm/guest/p2pmem_suite.py unplug_loads
