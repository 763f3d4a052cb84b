# SPDX-License-Identifier: GPL-2.0
# Runs of perftest as tests; after lib.sh.
#
#   speed ROWS TOOL ARGS...   perf TOOL ARGS... succeeds, and prints ROWS lines
#                             of results, none of them zero
#   over_ipv6 COMMAND...      it succeeds, and packets of IPv6 have come meanwhile
#                             (with rdma_cm: PERF_PEER=$PEER_IP6, --ipv6-addr)
#   quiet DEV                 no counter of an srnic device tells of a fault; prints
#                             those that aren't zero. A timeout is none: what a
#                             host's own queue drops is sent again
# shellcheck shell=bash
export PERF_PRELOAD=/usr/local/bin/calm_clock.so

speed()
{
	local rows=$1 out status=0

	shift
	out=$(perf "$@") || status=$?
	printf '%s\n' "$out"
	[ $status -eq 0 ] || return $status
	# BW: bytes iterations peak average messages/s; latency: bytes
	# iterations min max typical average ...
	awk -v want="$rows" -v tool="$1" '
		$1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ && NF >= 5 {
			rows++
			# few large messages: their rate is shown as 0. "inf", or 0 after
			# those words: perftest has measured the CPU clock in vain, on
			# a vCPU that stood still
			value = tool ~ /_lat$/ ? $5 : $4 + $5
			if (value + 0 <= 0 && $5 != "inf" && !no_clock) bad++
			no_clock = 0
		}
		/Correlation coefficient/ { no_clock = 1 }
		END {
			if (rows == want && !bad) exit 0
			print "rows: " rows + 0 ", wanted: " want ", zero: " bad + 0
			exit 1
		}' <<<"$out"
}

# Those that have come, on both hosts: what RoCE sends nobody counts.
_ipv6_packets()
{
	local count="awk '\$1 == \"Ip6InReceives\" { print \$2 }' /proc/net/snmp6"

	echo $(($(eval "$count") + $(on_b "$count")))
}

over_ipv6()
{
	local before status=0

	before=$(_ipv6_packets)
	"$@" || status=$?
	[ $(($(_ipv6_packets) - before)) -ge 10 ] || { echo "no packets of IPv6"; return 1; }
	return $status
}

quiet()
{
	local bad='' i

	(cd "/sys/class/infiniband/$1/ports/1/hw_counters" && grep -v '^0$' -- * | grep -v lifespan)

	for i in key_{unknown,stale,pd,access,bounds,state,revoked,qp} icrc_err \
		 malformed_pkts bad_pkey bad_qkey bad_source \
		 retry_exceeded_err retry_rnr_exceeded_err send_err; do
		[ "$(counter "$1" "$i")" = 0 ] || bad+=" $i=$(counter "$1" "$i")"
	done
	[ -z "$bad" ] || { echo "$1:$bad"; return 1; }
}
