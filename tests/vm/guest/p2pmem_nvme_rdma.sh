#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The guests' part of p2pmem_nvme_outside.t: perftest with the memory of a PMR and of
# a CMB at either end. STEP is 'write' (everything perftest can do, WORDS into b's
# PMR at PLACE, then b loses its power in the middle of other traffic) or 'read'
# (started anew: READs find them there: PATTERN, the same in hexadecimal).
# What perftest moves it doesn't compare: p2pmem_sizes.py does.
# shellcheck source=tests/vm/lib/lib.sh
. /srnic/tests/vm/lib/lib.sh
# shellcheck source=tests/vm/guest/perftest.sh
. /srnic/tests/vm/guest/perftest.sh

rdma_up srnic || bail "no srnic0"
from_a
pmr=$(on_b donate_nvme 0 pmr) || bail "no pmr"
cmb=$(on_b donate_nvme 1 cmb) || bail "no cmb"
wait_for 20 on_b gid_index srnic0 "$PEER_IP" >/dev/null || bail "b is not up"

if [ "$STEP" = read ]; then
	on_b /srnic/tests/vm/guest/integrity.py --serve srnic0 "$PEER_IP" &
	is "READs find the bytes in the PMR after the power has gone" \
		"$(/srnic/tests/vm/guest/p2pmem_place.py "$pmr" "$PLACE" 65536 | fold -w 128 |
			uniq -c | tr -s ' ')" " 1024 $PATTERN"
	wait
	ok "the donors go" on_b "rdma link del srnic0 && rmmod p2pmem_nvme"
	done_testing
	exit
fi

full() { [ "$(cat "/sys/class/p2pmem/$1/available")" = "$(cat "/sys/class/p2pmem/$1/size")" ]; }

declare -A near=([pmr]=$(donate_nvme 0 pmr) [cmb]=$(donate_nvme 1 cmb)) far=([pmr]=$pmr [cmb]=$cmb)
# the CMB's every access is trapped: fewer bytes
declare -A all=([pmr]="-a" [cmb]="-s 8388608") rows=([pmr]=23 [cmb]=1)
for kind in pmr cmb; do
	[ -n "${near[$kind]}" ] || bail "no $kind on a"
	for tool in ib_write_bw ib_read_bw ib_send_bw; do
		# shellcheck disable=SC2086 # words
		ok "$tool ${all[$kind]}, the server's memory in a $kind" \
			speed ${rows[$kind]} "$tool" ${all[$kind]} -n 5 -m 4096 : --mmap="${far[$kind]}"
		ok "$tool, 64 KiB, the memory of both in a $kind" speed 1 "$tool" -s 65536 -n 5 \
			-m 4096 : --mmap="${far[$kind]}" : --mmap="${near[$kind]}"
	done
	ok "ib_atomic_bw, the memory of both in a $kind" speed 1 ib_atomic_bw -n 20 \
		: --mmap="${far[$kind]}" : --mmap="${near[$kind]}"
	ok "no mapping is left of a's $kind" wait_for 10 full "${near[$kind]#/dev/}"
	ok "nor of b's" on_b "$(declare -f full); wait_for 10 full ${far[$kind]#/dev/}"
done
ok "no fault counted" quiet srnic0

echo "$WORDS" >/tmp/payload
# perftest's second half of what it maps is what is written to
ok "the pattern goes into the PMR at an offset" speed 1 ib_write_bw -s 65536 -n 5 \
	: --mmap="$pmr" --mmap-offset=$((PLACE - 65536)) : --payload_file_path=/tmp/payload

# What is written elsewhere when the power goes must harm nothing.
into() { cat "/sys/class/p2pmem/${pmr#/dev/}/statistics/bytes_in"; }
b_into() { on_b "pmr=$pmr; $(declare -f into); into"; }
before=$(b_into)
moved() { [ "$(b_into)" -gt $((before + 1000000)) ]; }
perf ib_write_bw -s 65536 -D 100 : --mmap="$pmr" >/dev/null 2>&1 &
ok "traffic into the PMR" wait_for 40 moved
# who is cut off doesn't answer
on_b cut_power >/dev/null 2>&1 &
silent() { ! ping -c 1 -W 2 "$CONTROL_B"; }
ok "b has no power any more" wait_for 40 silent
done_testing
