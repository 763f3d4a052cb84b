#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run integrity.py between hosts a and b. TYPE: of the RDMA links (srnic);
# MEMORY_A, MEMORY_B: a file that memory is taken from, such as /dev/p2pmem0;
# ARGS: for integrity.py.
. /srnic/tests/vm/lib/lib.sh
from_a
type=${TYPE:-srnic}
both "rdma_up $type" || bail "no $type link"
test=/srnic/tests/vm/guest/integrity.py
on_b "$test --serve ${type}0 $PEER_IP ${MEMORY_B:+--path $MEMORY_B}" &
# shellcheck disable=SC2086	# ARGS are words
$test "${type}0" "$MY_IP" "$CONTROL_B" ${MEMORY_A:+--path "$MEMORY_A"} ${ARGS:-}
