#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --kernel debug --cpus 1 --donors bar:16M,bar:16M,drive,drive --env UNPLUG_ROUNDS --timeout 3000
# Each of the four ways for a donor to go under each of the four loads, UNPLUG_ROUNDS
# times. Not one of "make test", where p2pmem_take_debug.t has fewer rounds of it.
export UNPLUG_ROUNDS=${UNPLUG_ROUNDS:-20}
exec /srnic/tests/vm/guest/p2pmem_suite.py unplug_loads
