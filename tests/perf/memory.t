#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Usage: [ROUNDS=5] tests/perf/memory.t
#
# What srnic reaches into RAM, a BAR, a PMR and a CMB of the server, against
# rdma_rxe into RAM: by turns, between two VMs in one boot, medians of ROUNDS, of
# the ratio as well. The CMB is QEMU's, whose every access is trapped. Prints a
# table for the README. Runs on the host, where it starts itself in the VMs.
if [ -z "${HOST:-}" ]; then
	cd "$(dirname "$0")/../.." || exit
	exec scripts/vm run --tap --quiet --hosts 2 --timeout 1800 \
		--donors b:bar:64M,b:pmr:64M,b:cmb:16M \
		--env "ROUNDS=${ROUNDS:-5}" tests/perf/memory.t
fi
. /srnic/tests/vm/lib/lib.sh
. /srnic/tests/perf/table.sh
. /srnic/tests/perf/turns.sh
from_a

# name, messages of 64 KiB, of 1 MiB
kinds=("RAM|400|25" "bar|400|25" "pmr|400|25" "cmb|60|5")
runs=("write 64 KiB|ib_write_bw -s 65536" "read 64 KiB|ib_read_bw -s 65536"
	"write 1 MiB|ib_write_bw -s 1048576" "read 1 MiB|ib_read_bw -s 1048576")

declare -A mmap=([RAM]="" [bar]=$(on_b donate_bar) [pmr]=$(on_b donate_nvme 0 pmr)
	[cmb]=$(on_b donate_nvme 1 cmb))
for i in bar pmr cmb; do
	[ -n "${mmap[$i]}" ] || bail "no $i"
	mmap[$i]=--mmap=${mmap[$i]}
done

# measure TYPE KIND N64 N1024: each run, a line to /tmp/TYPE.KIND.RUN
measure()
{
	local type=$1 kind=$2 j n name command result=''

	for j in "${!runs[@]}"; do
		IFS='|' read -r name command <<<"${runs[j]}"
		n=$3
		[[ $name == *KiB ]] || n=$4
		once "$n" "$type" "$command -m 4096 : ${mmap[$kind]}" '$4'
		echo "$result" >>"/tmp/$type.$kind.$j"
		diag "round $round: $type: $kind: $name: $result MiB/s"
	done
}

for ((round = 1; round <= ROUNDS; round++)); do
	turn srnic
	for i in "${kinds[@]}"; do
		IFS='|' read -r kind few many <<<"$i"
		measure srnic "$kind" "$few" "$many"
	done
	turn_ends srnic
	turn rxe
	measure rxe RAM 400 25
	turn_ends rxe
done

# what the README has, to the letter
rxe=()
head="| two VMs, srnic |" line="| --- |"
for j in "${!runs[@]}"; do
	rxe+=("$(median <"/tmp/rxe.RAM.$j")")
	head+=" ${runs[j]%%|*} |" line+=" --- |"
done
diag "Medians of $ROUNDS by turns; rdma_rxe's with RAM ($(
	IFS=,
	sed 's/,/, /g' <<<"${rxe[*]}"))"
diag "$head"
diag "$line"
for i in "${kinds[@]}"; do
	kind=${i%%|*}
	row="| $kind |"
	for j in "${!runs[@]}"; do
		times=$(ratios "/tmp/srnic.$kind.$j" "/tmp/rxe.RAM.$j" high)
		row+=" $(median <"/tmp/srnic.$kind.$j"): ${times/ times/} |"
	done
	diag "$row"
done
for i in "${kinds[@]}"; do
	pass "${i%%|*}: measured"
done
done_testing
