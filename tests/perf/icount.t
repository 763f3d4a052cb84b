#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --hosts 1 --icount --timeout 900
#
# Instructions for each message: the guest's clock counts instructions (1 ns
# each), so perftest's own times are counts, and the difference of two message
# counts is free of what starting costs. One host with itself: both sides, the
# network stack and perftest are in the sum. Event mode, so that polling isn't,
# except for WRITE, which perftest can only poll for.
. /srnic/tests/vm/lib/lib.sh
. /srnic/tests/perf/table.sh

# name, fewer messages, more messages, command
tests=(
	"ib_write_bw 64 KiB|50|250|ib_write_bw -s 65536 -m 4096"
	"ib_read_bw 64 KiB|50|250|ib_read_bw -s 65536 -m 4096 -e"
	"ib_send_bw 8 B|300|1500|ib_send_bw -s 8 -e"
	"ib_send_lat 8 B, one way|100|500|ib_send_lat -s 8 -e"
)

port=19000
switches() { awk '$1 == "ctxt" { print $2 }' /proc/stat; }

# total N COMMAND: nanoseconds, and context switches, for N messages
total()
{
	local n=$1 command=$2 out x before

	x=$(gid_index "$dev" "$MY_IP")
	# shellcheck disable=SC2086 # words
	timeout 200 $command -n "$n" -d "$dev" -x "$x" -F -p "$port" >/tmp/server 2>&1 &
	wait_listen "$port"
	before=$(switches)
	# shellcheck disable=SC2086 # words
	out=$(timeout 200 $command -n "$n" -d "$dev" -x "$x" -F -p "$port" 127.0.0.1 2>&1) ||
		{ diag "$out"; diag "$(cat /tmp/server)"; bail "$dev: $command"; }
	wait
	awk -v command="$command" -v switches=$(($(switches) - before)) '
		$1 ~ /^[0-9]+$/ && $2 == '"$n"' {
			# bandwidth: million messages a second; latency: average in us
			print command ~ /_lat/ ? $6 * 1000 * $2 : $2 * 1000 / $5, switches
		}' <<<"$out"
}

for type in srnic rxe; do
	dev=${type}0
	rdma_up $type || bail "no $dev"
	wait_for 20 gid_index "$dev" "$MY_IP" >/dev/null
	for i in "${!tests[@]}"; do
		IFS='|' read -r name few many command <<<"${tests[i]}"
		port=$((port + 1))
		t1=$(total "$few" "$command") || { echo "$t1"; exit 1; }
		port=$((port + 1))
		t2=$(total "$many" "$command") || { echo "$t2"; exit 1; }
		echo "$t1 $t2 $((many - few))" |
			awk '{ printf "%.0f %.2f\n", ($3 - $1) / $5, ($4 - $2) / $5 }' >"/tmp/$type.$i"
		diag "$type: $name: $(cat "/tmp/$type.$i") (instructions, switches)"
	done
	rdma link del "$dev"
	[ $type = rxe ] || rmmod srnic
done
diag "| for each message | instructions srnic | rxe | srnic is better by | switches srnic | rxe |"
diag "| --- | --- | --- | --- | --- | --- |"
for i in "${!tests[@]}"; do
	read -r s switches <"/tmp/srnic.$i"
	read -r r theirs <"/tmp/rxe.$i"
	diag "| ${tests[i]%%|*} | $s | $r | $(ratio "$s" "$r" low) | $switches | $theirs |"
	pass "${tests[i]%%|*}: measured"
done
done_testing
