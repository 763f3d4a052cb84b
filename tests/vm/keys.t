#!/bin/bash
# vm: --hosts 2 --donors a:bar:16M,b:bar:16M --timeout 600
# SPDX-License-Identifier: GPL-2.0
# Memory windows, regions that are registered anew, and the end of each kind of
# key in the middle of traffic, a donor's revoke included: between hosts a and b, both ways.
# shellcheck source=tests/vm/lib/lib.sh
. /srnic/tests/vm/lib/lib.sh
from_a
both "rdma_up srnic" || bail "no srnic link"
both "[ -e /sys/kernel/debug/srnic ] || mount -t debugfs debugfs /sys/kernel/debug" ||
	bail "no debugfs"
both donate_bar || bail "no /dev/p2pmem0"
on_b "/srnic/tests/vm/guest/integrity.py --serve srnic0 $PEER_IP" &
# shellcheck disable=SC2086	# words
/srnic/tests/vm/guest/keys.py srnic0 "$MY_IP" "$CONTROL_B" --p2pmem /dev/p2pmem0 ${ARGS:-}
