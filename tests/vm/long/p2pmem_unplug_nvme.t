#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --kernel debug --cpus 1 --donors cmb:16M,bar:16M,drive,drive --env UNPLUG_ROUNDS --timeout 3000
# What p2pmem_unplug.t does, with the Controller Memory Buffer of an NVMe function.
export UNPLUG_ROUNDS=${UNPLUG_ROUNDS:-20} DONOR=cmb
exec /srnic/tests/vm/guest/p2pmem_suite.py unplug_loads
