#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The guests' part of p2pmem_nvme_outside.t: RDMA into b's PMR and CMB. STEP is
# 'write' (everything perftest can do, WORDS into the PMR at PLACE) or 'read'
# (after a reboot it is found there: PATTERN, the same in hexadecimal).
# shellcheck source=tests/vm/lib/lib.sh
. /srnic/tests/vm/lib/lib.sh
# shellcheck source=tests/vm/guest/perftest.sh
. /srnic/tests/vm/guest/perftest.sh

# donate N KIND: the N-th controller; prints its /dev/p2pmem* of that kind
donate()
{
	local bdf i

	modprobe p2pmem_nvme && bdf=$(donor_bdf nvme "$1") && bind_to p2pmem_nvme "$bdf" || return
	for i in /sys/class/p2pmem/*; do
		[ "$(realpath "$i/device")" = "$(realpath "/sys/bus/pci/devices/$bdf")" ] &&
			[ "$(cat "$i/kind")" = "$2" ] && echo "/dev/${i##*/}" && return
	done
	return 1
}

from_a
pmr=$(on_b "$(declare -f donate); donate 0 pmr") || bail "no pmr"
cmb=$(on_b "$(declare -f donate); donate 1 cmb") || bail "no cmb"

if [ "$STEP" = read ]; then
	found=$(on_b "python3 -c '
import mmap, os
fd = os.open(\"$pmr\", os.O_RDWR)
print(mmap.mmap(fd, 4096, offset=$PLACE)[0:64].hex())'")
	is "the PMR has the bytes after a reboot" "$found" "$PATTERN"
	done_testing
	exit
fi

rdma_up srnic || bail "no srnic0"
on_b rdma_up srnic || bail "no srnic0 on b"
wait_for 20 on_b gid_index srnic0 "$PEER_IP" >/dev/null || bail "b is not up"
for mem in "$pmr" "$cmb"; do
	kind=$(on_b "cat /sys/class/p2pmem/${mem#/dev/}/kind")
	for tool in ib_write_bw ib_read_bw ib_send_bw; do
		for size in 65536 1048576 4194304; do
			ok "$tool, $size bytes, the server's memory in a $kind" \
				speed 1 "$tool" -s $size -n 5 : --mmap="$mem"
		done
	done
	ok "ib_atomic_bw, the server's memory in a $kind" speed 1 ib_atomic_bw -n 20 : --mmap="$mem"
	ok "no mapping is left of the $kind" on_b wait_for 10 eval \
		"'[ \$(cat /sys/class/p2pmem/${mem#/dev/}/available) = \$(cat /sys/class/p2pmem/${mem#/dev/}/size) ]'"
done

echo "$WORDS" >/tmp/payload
# perftest's second half of what it maps is what is written to
ok "the pattern goes into the PMR at an offset" speed 1 ib_write_bw -s 65536 -n 5 \
	: --mmap="$pmr" --mmap-offset=$((PLACE - 65536)) : --payload_file_path=/tmp/payload
ok "no fault counted" quiet srnic0
ok "the donors go" on_b "rdma link del srnic0 && rmmod p2pmem_nvme"
done_testing
