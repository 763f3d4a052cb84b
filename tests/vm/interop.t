#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --hosts 2 --donors a:bar,b:bar --timeout 1800
# calm
#
# srnic against rdma_rxe, an RNIC that nobody here wrote: srnic first as the
# client, then as the server; captures on srnic's side are judged by Wireshark
# and by an ICRC of our own.
. /srnic/tests/vm/lib/lib.sh
. /srnic/tests/vm/guest/perftest.sh
mem=$(donate_bar) || bail "no /dev/p2pmem0"
from_a
wait_for 20 on_b test -e "$mem" || bail "no $mem on b"

# both_dev A B: srnic on one host, rxe on the other
both_dev()
{
	export DEV_A=${1}0 DEV_B=${2}0
	on_a rdma_up "$1" || return
	on_b rdma_up "$2" || return
	x4a=$(wait_for 10 gid_index "$DEV_A" "$MY_IP") || return
	x6a=$(wait_for 10 gid_index "$DEV_A" "$MY_IP6") || return
	x4b=$(on_b wait_for 10 gid_index "$DEV_B" "$PEER_IP") || return
	x6b=$(on_b wait_for 10 gid_index "$DEV_B" "$PEER_IP6") || return
	v4=(: -x "$x4b" : -x "$x4a")
	v6=(: -x "$x6b" : -x "$x6a")
}

# capture / judge HOST: what passes eth0 of HOST in between, 9000 packets at most
capture()
{
	"on_$1" "rm -f /tmp/cap.log; exec tcpdump -i eth0 -w /tmp/cap.pcap -c 9000 -B 16384 \
		udp port 4791 2>/tmp/cap.log" &
	tcpdump=$!
	"on_$1" wait_for 20 grep -q listening /tmp/cap.log
}
judge()
{
	sleep 1
	"on_$1" pkill -INT tcpdump
	wait "$tcpdump"
	"on_$1" "grep '^0 packets dropped' /tmp/cap.log &&
		/srnic/tests/vm/guest/interop_icrc.py /tmp/cap.pcap \
		\$(cat /sys/class/net/eth0/address)" >/tmp/judged 2>&1
	set -- $?
	diag "$(cat /tmp/judged)"
	return "$1"
}

# pingpong PROGRAM INDEX_B INDEX_A OPTION...: with the data compared
port=20000
pingpong()
{
	local what=$1 xb=$2 xa=$3 status=0

	shift 3
	on_b timeout 60 "$what" -d "$DEV_B" -g "$xb" -p "$port" "$*" >/tmp/pp 2>&1 &
	on_b wait_listen "$port"
	timeout 60 "$what" -d "$DEV_A" -g "$xa" -p "$port" "$@" "$PEER_IP" || status=$?
	wait $! || status=$?
	cat /tmp/pp
	return $status
}

# rping_from HOST IP OPTION...: HOST is the client, its peer is at IP
rping_from()
{
	local client=on_$1 server=on_b ip=$2 status=0

	[ "$1" = a ] || server=on_a
	shift 2
	"$server" timeout 60 rping -s -a "$ip" -p "$port" "$*" >/tmp/rping 2>&1 &
	"$server" wait_for 20 _perf_listens "$port"
	"$client" timeout 60 rping -c -a "$ip" -p "$port" "$*" || status=$?
	# the server says so when its client leaves: no failure
	wait $!
	cat /tmp/rping
	return $status
}

# Of each tool: all sizes, in RAM and in a BAR; many QPs; both directions
large()
{
	local tool where=$1 at=(: -x "$x4b" : -x "$x4a" --mmap="$mem")

	[ "$DEV_A" = srnic0 ] || at=(: -x "$x4b" --mmap="$mem" : -x "$x4a")
	for tool in ib_{write,read,send}_{bw,lat}; do
		ok "$where: $tool, all sizes" speed 23 "$tool" -a -n 5 -m 4096 "${v4[@]}"
	done
	for tool in ib_{write,read,send}_bw; do
		ok "$where: $tool, all sizes, srnic's memory in a BAR, MTU 1024" \
			speed 23 "$tool" -a -n 5 -m 1024 "${at[@]}"
	done
	# One packet each: 16 QPs lose packets in the queues between the hosts, and
	# when rxe sends again from the middle of messages it may go on with wrong
	# packets. Captured (ib_send_bw -q 16 -n 20, 64 KiB): after a NAK the same PSN
	# was once a FIRST and once a LAST, and 21 messages were sent where 20 had been
	# posted. With itself as its peer it fails as well, in 1 run of 6.
	for tool in ib_{write,read,send}_bw; do
		ok "$where: $tool, 16 QPs" speed 1 "$tool" -q 16 -n 20 -s 4096 -m 4096 "${v4[@]}"
	done
	ok "$where: ib_atomic_bw, 16 QPs" speed 1 ib_atomic_bw -q 16 -n 20
	ok "$where: ib_read_bw, in both directions" speed 1 ib_read_bw -b -n 10
	ok "$where: ib_write_bw, in both directions" speed 1 ib_write_bw -b -n 10
}

# Of each tool: IPv4 and IPv6, small packets and large ones, events, rdma_cm and
# srnic's memory in a BAR. HOST is where srnic is; all of it is captured there.
small()
{
	local tool where=$1 host=$2 at=(: : --mmap="$mem") events v atomic

	[ "$DEV_A" = srnic0 ] || at=(: --mmap="$mem" :)
	capture "$host" || { fail "$where: a capture"; return; }
	for tool in ib_{write,read,send}_{bw,lat}; do
		# perftest has no events for WRITE
		events=-e
		[[ $tool != ib_write* ]] || events=
		# shellcheck disable=SC2086 # one word, or none
		ok "$where: $tool, IPv6, MTU 1024, events" \
			speed 1 "$tool" -s 9001 -n 20 -m 1024 $events "${v6[@]}"
		ok "$where: $tool, rdma_cm, srnic's memory in a BAR" \
			speed 1 "$tool" -s 65536 -n 5 -R "${at[@]}"
	done
	for tool in ib_atomic_{bw,lat}; do
		ok "$where: $tool, events" speed 1 "$tool" -n 50 -m 1024 -e "${v4[@]}"
		ok "$where: $tool, compare and swap, IPv6" \
			speed 1 "$tool" -n 50 -A CMP_AND_SWAP "${v6[@]}"
		ok "$where: $tool, rdma_cm, srnic's memory in a BAR" \
			speed 1 "$tool" -n 10 -R "${at[@]}"
	done
	PERF_PEER=$PEER_IP6 ok "$where: ib_write_bw, rdma_cm over IPv6" \
		over_ipv6 speed 1 ib_write_bw -s 9001 -n 20 -R --ipv6-addr
	ok "$where: ib_send_bw, UD, all sizes" speed 12 ib_send_bw -c UD -a -n 20 -m 4096 "${v4[@]}"
	ok "$where: ib_send_lat, UD, IPv6" speed 1 ib_send_lat -c UD -s 1000 -n 20 "${v6[@]}"
	ok "$where: Wireshark finds nothing wrong, every ICRC is right" judge "$host"
	# SEND, WRITE, READ and its response, ACK; UD; compare and swap, fetch and add
	for v in 4 6; do
		atomic=13
		[ $v = 6 ] || atomic=14
		ok "$where: each kind of packet was there, IPv$v" was_there $v \
			00 01 02 06 07 08 0c 0d 0e 0f 11 12 64 $atomic
		ok "$where: packets both ways, IPv$v" \
			grep -qPz "(?s)received IPv$v.*sent IPv$v" /tmp/judged
	done
}

# was_there IP-VERSION OPCODE...: judge has met them
was_there()
{
	local version=$1 i

	shift
	for i in "$@"; do
		grep -q "IPv$version opcode 0x$i:" /tmp/judged || { echo "no $i"; return 1; }
	done
}

programs()
{
	local where=$1 ip i

	for ip in 4 6; do
		i=$PEER_IP
		[ $ip = 4 ] || i=$PEER_IP6
		ok "$where: rping, IPv$ip" rping_from a "$i" -V -S 1000 -C 10
		i=$MY_IP
		[ $ip = 4 ] || i=$MY_IP6
		port=$((port + 1))
		ok "$where: rping from b, IPv$ip" rping_from b "$i" -V -S 60000 -C 5
		port=$((port + 1))
	done
	ok "$where: rc_pingpong" pingpong ibv_rc_pingpong "$x4b" "$x4a" -n 50 -s 5000 -c
	port=$((port + 1))
	ok "$where: rc_pingpong, IPv6, events" pingpong ibv_rc_pingpong "$x6b" "$x6a" -n 50 -s 100000 -e -c
	port=$((port + 1))
	ok "$where: ud_pingpong" pingpong ibv_ud_pingpong "$x4b" "$x4a" -n 50 -s 1000 -c
	port=$((port + 1))
}

both_dev srnic rxe || bail "srnic on a, rxe on b: no devices"
large "srnic to rxe"
small "srnic to rxe" a
programs "srnic to rxe"
ok "no fault counted" quiet srnic0
diag "$(quiet srnic0)"
ok "srnic unloads" eval "rdma link del srnic0 && rmmod srnic"
on_b "rdma link del rxe0 && rmmod rdma_rxe"

both_dev rxe srnic || bail "rxe on a, srnic on b: no devices"
large "rxe to srnic"
small "rxe to srnic" b
programs "rxe to srnic"
ok "no fault counted" on_b ". /srnic/tests/vm/guest/perftest.sh; quiet srnic0"
ok "srnic unloads" on_b "rdma link del srnic0 && rmmod srnic"
done_testing
