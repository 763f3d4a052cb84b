# SPDX-License-Identifier: GPL-2.0
# srnic and rdma_rxe by turns, on the same cards, in one boot of two hosts; after
# lib.sh, on host a.
#
#   turn TYPE              it is its turn: srnic or rxe is up on both hosts
#   turn_ends TYPE         down again
#   once N TYPE COMMAND VALUE
#                          perf COMMAND with N messages: VALUE (awk, of perftest's
#                          line) to $result, the context switches of both hosts to
#                          $switched
# shellcheck shell=bash

turn()
{
	both "rdma_up $1 && wait_for 20 gid_index ${1}0 \$MY_IP" >/dev/null ||
		bail "no ${1}0"
}

turn_ends()
{
	both "rdma link del ${1}0; rmmod ${1/#rxe/rdma_rxe}" || bail "$1 doesn't unload"
}

_switches()
{
	local a b

	a=$(awk '$1 == "ctxt" { print $2 }' /proc/stat)
	b=$(on_b "awk '\$1 == \"ctxt\" { print \$2 }' /proc/stat")
	echo $((a + b))
}

once()
{
	local n=$1 type=$2 command=$3 value=$4 before out try

	export DEV_A=${type}0 DEV_B=${type}0
	for try in 1 2 3; do
		before=$(_switches)
		# behind the tool's name: what follows may be one side's only
		# shellcheck disable=SC2086 # words
		out=$(PERF_TIMEOUT=120 perf ${command/ / -n $n }) ||
			{ diag "$out"; bail "$type: $command"; }
		# shellcheck disable=SC2034 # the caller's
		switched=$(($(_switches) - before))
		result=$(awk "\$1 ~ /^[0-9]+\$/ && \$2 == $n { print $value }" <<<"$out")
		# 0 or inf: perftest has measured the CPU clock in vain, on a vCPU that
		# stood still
		[[ $result =~ [1-9] ]] && return
		diag "try $try: $type: $command: '$result'"
	done
	diag "$out"
	bail "$type: $command: no result"
}
