#!/bin/bash
# vm: --hosts 2 --timeout 600
# SPDX-License-Identifier: GPL-2.0
# Memory windows, regions that are registered anew, and the end of each kind of
# key in the middle of traffic: between hosts a and b, both ways.
# shellcheck source=tests/vm/lib/lib.sh
. /srnic/tests/vm/lib/lib.sh
from_a
both "rdma_up srnic" || bail "no srnic link"
both "[ -e /sys/kernel/debug/srnic ] || mount -t debugfs debugfs /sys/kernel/debug" ||
	bail "no debugfs"
on_b "/srnic/tests/vm/guest/integrity.py --serve srnic0 $PEER_IP" &
# shellcheck disable=SC2086	# words
/srnic/tests/vm/guest/keys.py srnic0 "$MY_IP" "$CONTROL_B" ${ARGS:-}
