# SPDX-License-Identifier: GPL-2.0
# RDMA links and perftest.
#
#   rdma_up TYPE [DEV]     modprobe, rdma link add DEV (default: TYPE0) on eth0
#   gid_index DEV IP       the index of IP's RoCE v2 GID
#   counter DEV NAME       a value of "rdma statistic"
#   perf TOOL [COMMON...] [: SERVER...] [: CLIENT...]
#                          TOOL on b as the server, on a as the client; output
#                          of both; fails if one of them does. For other
#                          devices than srnic0: DEV_A, DEV_B; PERF_TIMEOUT (60);
#                          a library to preload: PERF_PRELOAD
# shellcheck shell=bash

rdma_up()
{
	local type=$1 dev=${2:-${1}0} module

	case $type in
	rxe)	module=rdma_rxe ;;
	*)	module=$type ;;
	esac
	modprobe "$module" && modprobe ib_uverbs && modprobe rdma_ucm 2>/dev/null
	rdma link add "$dev" type "$type" netdev eth0
}

# An address as the kernel prints a GID: 8 groups of 4 digits.
_as_gid()
{
	local ip=$1 a b c d left right

	if [[ $ip != *:* ]]; then
		IFS=. read -r a b c d <<<"$ip"
		printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' "$a" "$b" "$c" "$d"
		return
	fi
	IFS=: read -ra left <<<"${ip%%::*}"
	[[ $ip != *::* ]] || IFS=: read -ra right <<<"${ip#*::}"
	while [ $((${#left[@]} + ${#right[@]})) -lt 8 ]; do
		left+=(0)
	done
	printf '%04x:' "${left[@]/#/0x}" "${right[@]/#/0x}" | sed 's/:$//'
}

gid_index()
{
	local dir=/sys/class/infiniband/$1/ports/1 want i gid type

	want=$(_as_gid "$2")
	# rxe has 1024 of them: no process for each
	for i in "$dir"/gids/*; do
		read -r gid <"$i" || continue
		[ "$gid" = "$want" ] || continue
		i=${i##*/}
		read -r type 2>/dev/null <"$dir/gid_attrs/types/$i" || continue
		[ "$type" = "RoCE v2" ] && echo "$i" && return
	done
	return 1
}

counter()
{
	cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2"
}

# Of perftest's server, or rping's: TCP, or the connection manager. A cm_id says
# LISTEN a moment before the listener is there: who has come back from
# rdma_listen() waits, perftest for an event, rping for its other thread.
_perf_listens()
{
	local pid

	_listens "$1" && return
	rdma resource show cm_id 2>/dev/null | grep -q "LISTEN.*:$1 " || return
	for pid in $(pgrep -f -- "-p $1( |\$)"); do
		! grep -qsE '^(ucma_get_event|futex)' "/proc/$pid/wchan" || return 0
	done
	return 1
}

# _perf_server PORT COMMAND...: it, with a line as soon as it listens. The empty
# line after that: on_b holds one back.
_perf_server()
{
	local port=$1 pid

	shift
	"$@" &
	pid=$!
	if wait_for 10 _perf_listens "$port"; then
		printf '@listens\n\n'
	else
		kill "$pid" 2>/dev/null
		printf '@mute\n\n'
	fi
	wait "$pid"
}

# _perf_says FILE: has the server said which?
_perf_says()
{
	local lines

	mapfile -t lines <"$1"
	_perf_said=${lines[*]}
	[[ $_perf_said == *@listens* || $_perf_said == *@mute* ]]
}

# With -R perftest's client may be faster than its server: both shake hands, then
# the server begins to listen. It is rejected (8: invalid service ID; datagrams: 1,
# unsupported service ID), and dies of it. That is tried again; three tries have not
# been enough on a host with much else to do.
perf()
{
	local out status tries

	for tries in {1..10}; do
		status=0
		out=$(_perf "$@") || status=$?
		grep -qE 'RDMA_CM_EVENT_(REJECTED; error: 8|UNREACHABLE; error: 1)\.' <<<"$out" || break
		echo "try $tries: the server did not listen yet"
	done
	printf '%s\n' "$out"
	return $status
}

_perf()
{
	local tool=$1 part=0 i port limit=${PERF_TIMEOUT:-60} server status=0
	local common=() args_b=() args_a=()

	shift
	for i in "$@"; do
		[ "$i" != : ] || { part=$((part + 1)); continue; }
		case $part in
		0)	common+=("$i") ;;
		1)	args_b+=("$i") ;;
		2)	args_a+=("$i") ;;
		esac
	done
	# a port of its own for each run, those in subshells as well: the last
	# one's may linger
	read -r port 2>/dev/null </tmp/perf.port || port=18515
	echo $((port + 1)) >/tmp/perf.port
	: >"/tmp/perf.$port"
	on_b "_perf_server $port timeout $limit env LD_PRELOAD=$PERF_PRELOAD $tool -d ${DEV_B:-srnic0} -p $port -F" \
		"${common[*]}" "${args_b[*]}" >"/tmp/perf.$port" 2>&1 &
	server=$!
	if wait_for $((limit + 10)) _perf_says "/tmp/perf.$port" && ! [[ $_perf_said == *mute* ]]; then
		LD_PRELOAD=$PERF_PRELOAD timeout "$limit" "$tool" -d "${DEV_A:-srnic0}" -p "$port" -F \
			"${common[@]}" "${args_a[@]}" "${PERF_PEER:-$PEER_IP}" 2>&1 || status=$?
	else
		echo "$tool: the server does not listen"
		status=1
	fi
	if [ $status -ne 0 ]; then
		# its client is gone: no need to wait for its timeout
		on_b "pkill -f '$tool .*-p $port '"
	fi
	wait "$server" || { i=$?; [ $status -ne 0 ] || status=$i; }
	if [ $status -ne 0 ]; then
		echo "--- status $status; the server on b said:"
		tail -n 30 "/tmp/perf.$port"
	fi
	return $status
}
