#!/bin/bash
# vm: --hosts 2 --donors a:bar:16M,b:bar:16M --timeout 900
# SPDX-License-Identifier: GPL-2.0
# Data integrity, refusals, teardown, a lossy network: between hosts a and b,
# in both directions, with ordinary memory and with /dev/p2pmem0 on both.
# For another driver (and without p2pmem): scripts/vm run --env TYPE=rxe ...
. /srnic/tests/vm/lib/lib.sh
from_a
type=${TYPE:-srnic}
options=${ARGS:-}
both "rdma_up $type" || bail "no $type link"
if [ "$type" = srnic ] && [ -n "${DONORS:-}" ]; then
	both donate_bar || bail "no /dev/p2pmem0"
	options="$options --p2pmem /dev/p2pmem0"
fi
test=/srnic/tests/vm/guest/integrity.py
on_b "$test --serve ${type}0 $PEER_IP" &
# shellcheck disable=SC2086	# words
$test "${type}0" "$MY_IP" "$CONTROL_B" $options
