#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Usage: [ROUNDS=5] tests/perf/keys.t
#
# Keys: registering and deregistering, srnic against rdma_rxe by turns in one boot;
# with ten live keys and with a million; memory for each; the end of a key while a
# peer writes to it (eight ways), the median and the longest; and, where the clock
# counts instructions, lookups with the key cache and without. Runs on the host,
# where it starts itself in VMs.
if [ -z "${HOST:-}" ]; then
	cd "$(dirname "$0")/../.." || exit
	scripts/vm run --tap --quiet --hosts 1 --memory 4096 --timeout 1800 \
		--env "ROUNDS=${ROUNDS:-5}" --env PART=registrations tests/perf/keys.t || exit
	scripts/vm run --tap --quiet --hosts 1 --cpus 2 --memory 4096 --donors bar:16M \
		--timeout 1800 --env PART=barrier tests/perf/keys.t || exit
	exec scripts/vm run --tap --quiet --hosts 1 --memory 1024 --icount --timeout 900 \
		--env PART=lookups tests/perf/keys.t
fi
. /srnic/tests/vm/lib/lib.sh
. /srnic/tests/perf/table.sh

# as_with_ten WHAT COST COST: what it costs with a million keys and with ten
as_with_ten()
{
	num "$1: with a million keys as with ten" "$2" -le $(($3 * 23 / 20))
}

lookups()
{
	local n lines few all make kill all10 make10 kill10

	diag "Instructions for a lookup (enter and leave), to make a key and to kill one"
	diag "| live keys | key cache | 8 of them, again and again | all, in no order | make | kill |"
	diag "| --- | --- | --- | --- | --- | --- |"
	for n in 10 1000 1000000; do
		for lines in 0 256 4096; do
			dmesg -C
			ok "$n keys, cache $lines: measured" \
				modprobe srnic_key_bench keys=$n cache=$lines
			rmmod srnic_key_bench
			read -r few all make kill < <(dmesg | awk '/srnic_key_bench: keys/ {
				for (i = 1; i < NF; i++) v[$i] = $(i + 1)
				printf "%.0f %.0f %.0f %.0f\n", v["few"] / 100, v["all"] / 100,
					v["make"] / 100, v["kill"] / 100 }')
			diag "| $n | $lines | $few | $all | $make | $kill |"
			echo "$all $make $kill" >/tmp/cost.$n.$lines
		done
	done
	read -r all make kill </tmp/cost.1000000.0
	read -r all10 make10 kill10 </tmp/cost.10.0
	as_with_ten "a lookup" "$all" "$all10"
	as_with_ten "to make a key" "$make" "$make10"
	as_with_ten "to kill one" "$kill" "$kill10"
	done_testing
}

# In a guest that does nothing else.
barrier()
{
	local index live

	rdma_up srnic && index=$(wait_for 10 gid_index srnic0 "$MY_IP") || bail "no srnic0"
	donate_bar >/dev/null || bail "no /dev/p2pmem0"
	for live in 0 1000000; do
		diag "The end of a key while a peer WRITEs to it, 1 MiB each; $live other keys are" \
			"alive: 100 times, milliseconds"
		diag "| way | median | longest |"
		diag "| --- | --- | --- |"
		ok "measured" eval "barrier_bench srnic0 $index 100 $live $(donor_bdf bar) >/tmp/barrier"
		while read -r way _ median _ longest; do
			diag "| ${way//_/ } | $median | $longest |"
			# all of an unbind isn't the key's
			[ "$way" != unplug ] || continue
			num "$way: the median is within 10 ms, $live keys" "${median%.*}" -lt 10
			num "$way: so is the longest, $live keys" "${longest%.*}" -lt 10
		done </tmp/barrier
	done
	done_testing
}

# pairs TYPE SIZE COUNT: a second
pairs()
{
	reg_bench "${1}0" "$2" "$3" | awk '/^pairs/ { printf "%.0f\n", $2 / $4 }'
}

registrations()
{
	local type size count round line huge=/proc/sys/vm/nr_hugepages

	for ((round = 1; round <= ROUNDS; round++)); do
		for type in srnic rxe; do
			rdma_up $type || bail "no ${type}0"
			pairs $type 4096 3000 >>/tmp/result.$type.4096
			pairs $type 67108864 10 >>/tmp/result.$type.67108864
			rdma link del ${type}0
			rmmod "${type/#rxe/rdma_rxe}"
		done
	done
	diag "Median of $ROUNDS by turns: register and deregister, a second"
	diag "| bytes | srnic | rxe | srnic is better by (rounds) |"
	diag "| --- | --- | --- | --- |"
	for size in 4096 67108864; do
		diag "| $size | $(median </tmp/result.srnic.$size) | $(median </tmp/result.rxe.$size) |" \
			"$(ratios /tmp/result.srnic.$size /tmp/result.rxe.$size high) |"
		pass "$size bytes: measured"
	done
	# else pages that CPUs keep for themselves come and go in what is measured
	echo 100000 >/proc/sys/vm/percpu_pagelist_high_fraction
	diag "Kernel memory for each region"
	for type in srnic rxe; do
		rdma_up $type || bail "no ${type}0"
		# the core's and the allocator's own growth isn't the second one's
		reg_bench ${type}0 4096 1 20000 >/dev/null
		diag "$type: 4 KiB: $(reg_bench ${type}0 4096 1 20000 | grep live)"
		# the same memory again and again: what the allocator keeps is little then
		diag "$type: 1 GiB in scattered pages of 4 KiB:" \
			"$(reg_bench ${type}0 1073741824 1 16 scattered | grep live)"
		echo 520 >$huge
		diag "$type: 1 GiB in pages of 2 MiB:" \
			"$(reg_bench ${type}0 1073741824 1 128 huge | grep live)"
		echo 0 >$huge
		rdma link del ${type}0
		rmmod "${type/#rxe/rdma_rxe}"
	done
	rdma_up srnic || bail "no srnic0"
	for count in 10 1000 1000000; do
		line=$(reg_bench srnic0 4096 3000 $count) || bail "$count live keys: $line"
		diag "$count live: $(tr '\n' ';' <<<"$line")"
		pass "$count live keys: measured"
		awk '/^pairs/ { printf "%d\n", $4 * 1000 }' <<<"$line" >/tmp/pairs.$count
	done
	# seconds of an emulator: by instructions, see lookups
	num "with a million live keys in 4 GiB a pair takes no more than twice as long" \
		"$(</tmp/pairs.1000000)" -le $(($(</tmp/pairs.10) * 2))
	done_testing
}

"$PART"
