#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Usage: [ROUNDS=5] tests/perf/compare.t
#
# srnic against rdma_rxe between two VMs in one boot: by turns, on the same
# cards, medians of ROUNDS, of the ratio as well: both sides of a round have met
# the same machine. And context switches of both hosts together for each message.
# Prints a table for the README. Runs on the host, where it starts itself in the
# VMs.
if [ -z "${HOST:-}" ]; then
	cd "$(dirname "$0")/../.." || exit
	exec scripts/vm run --tap --quiet --hosts 2 --timeout 1800 \
		--env "ROUNDS=${ROUNDS:-5}" tests/perf/compare.t
fi
. /srnic/tests/vm/lib/lib.sh
. /srnic/tests/perf/table.sh
. /srnic/tests/perf/turns.sh
from_a

# name, messages, value (awk), unit, better, command
tests=(
	"ib_write_bw 64 KiB|400|\$4|MiB/s|high|ib_write_bw -s 65536 -m 4096"
	"ib_read_bw 64 KiB|400|\$4|MiB/s|high|ib_read_bw -s 65536 -m 4096"
	"ib_send_bw 8 B|3000|\$5 * 1000000|msg/s|high|ib_send_bw -s 8"
	"ib_write_lat 8 B|500|\$5|us|low|ib_write_lat -s 8"
)

result='' switched=''	# by once()
for ((round = 1; round <= ROUNDS; round++)); do
	for type in srnic rxe; do
		turn $type
		for i in "${!tests[@]}"; do
			IFS='|' read -r name n value unit _ command <<<"${tests[i]}"
			if [ "$round" = 1 ]; then
				# what starting costs is in both
				once 5 $type "$command" "$value"
				base=$switched
				once $((5 * n)) $type "$command" "$value"
				awk "BEGIN { printf \"%.2f\n\",
					($switched - $base) / (5 * $n - 5)
				}" >"/tmp/ctxt.$type.$i"
			fi
			once "$n" $type "$command" "$value"
			echo "$result" >>"/tmp/result.$type.$i"
			diag "round $round: $type: $name: $result $unit"
		done
		turn_ends $type
	done
done

diag "Median of $ROUNDS by turns; context switches: both hosts, for each message"
diag "| | srnic | rxe | srnic is better by (rounds) | switches srnic | rxe |"
diag "| --- | --- | --- | --- | --- | --- |"
for i in "${!tests[@]}"; do
	IFS='|' read -r name n value unit better command <<<"${tests[i]}"
	s=$(median <"/tmp/result.srnic.$i") r=$(median <"/tmp/result.rxe.$i")
	diag "| $name | $s $unit | $r $unit |" \
		"$(ratios "/tmp/result.srnic.$i" "/tmp/result.rxe.$i" "$better") |" \
		"$(cat "/tmp/ctxt.srnic.$i") | $(cat "/tmp/ctxt.rxe.$i") |"
	pass "$name: measured"
done
done_testing
