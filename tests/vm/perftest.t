#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --hosts 2 --donors a:bar,b:bar --timeout 1500
# calm
#
# perftest between two srnics: every tool over all sizes, with the memory of a
# PCIe BAR at either end, over IPv4 and IPv6, small and large packets, many
# QPs, events, rdma_cm, and UD.
. /srnic/tests/vm/lib/lib.sh
. /srnic/tests/vm/guest/perftest.sh
rdma_up srnic || bail "no srnic0"
mem=$(donate_bar) || bail "no /dev/p2pmem0"
from_a
bw="ib_write_bw ib_read_bw ib_send_bw"
lat="ib_write_lat ib_read_lat ib_send_lat"
atomic="ib_atomic_bw ib_atomic_lat"
wait_for 20 on_b gid_index srnic0 "$PEER_IP6" >/dev/null || bail "b is not up"
wait_for 10 on_b test -e "$mem" || bail "no $mem on b"
x4a=$(gid_index srnic0 "$MY_IP") x6a=$(gid_index srnic0 "$MY_IP6")
x4b=$(on_b gid_index srnic0 "$PEER_IP") x6b=$(on_b gid_index srnic0 "$PEER_IP6")
v4=(: -x "$x4b" : -x "$x4a")
v6=(: -x "$x6b" : -x "$x6a")
pool=/sys/class/p2pmem/${mem#/dev/}
full() { [ "$(cat "$pool/available")" = "$(cat "$pool/size")" ]; }

# Each tool meets each of: sizes from 2 bytes to 8 MiB; the memory of a BAR at the
# server, at the client, at both; IPv4, IPv6; MTU 1024, 4096; events; rdma_cm.
for tool in $bw; do
	ok "$tool, all sizes, RAM, IPv4, MTU 4096" speed 23 "$tool" -a -n 5 -m 4096 "${v4[@]}"
done
for tool in $bw $lat; do
	ok "$tool, all sizes, the server's memory in a BAR, IPv4, MTU 4096" \
		speed 23 "$tool" -a -n 5 -m 4096 : -x "$x4b" --mmap="$mem" : -x "$x4a"
done
for tool in $atomic; do
	ok "$tool, the server's memory in a BAR, IPv4, MTU 4096" \
		speed 1 "$tool" -n 10 -m 4096 : -x "$x4b" --mmap="$mem" : -x "$x4a"
done
for tool in $bw $lat $atomic; do
	lines=23 size="-a -n 5"
	[[ $tool != *_atomic* ]] || lines=1 size="-n 10"
	# perftest has no events for WRITE
	events=-e
	[[ $tool != ib_write* ]] || events=
	# shellcheck disable=SC2086 # words, or none
	{
	ok "$tool, the client's memory in a BAR, IPv6, MTU 1024, events" \
		over_ipv6 speed $lines "$tool" $size $events -m 1024 \
			: -x "$x6b" : -x "$x6a" --mmap="$mem"
	ok "$tool, the memory of both in a BAR, IPv4, MTU 4096, rdma_cm" \
		speed $lines "$tool" $size -R -m 4096 --mmap="$mem" "${v4[@]}"
	}
done
for tool in $bw ib_atomic_bw; do
	events=-e
	[[ $tool != ib_write* ]] || events=
	ok "$tool, 16 QPs, IPv4, MTU 1024" speed 1 "$tool" -q 16 -n 20 -m 1024 "${v4[@]}"
	# shellcheck disable=SC2086 # one word, or none
	ok "$tool, 16 QPs, IPv6, MTU 4096, BAR, events" \
		over_ipv6 speed 1 "$tool" -q 16 -n 20 -m 4096 --mmap="$mem" $events "${v6[@]}"
	# shellcheck disable=SC2086
	PERF_PEER=$PEER_IP6 ok "$tool, 16 QPs, BAR, rdma_cm over IPv6, events" \
		over_ipv6 speed 1 "$tool" -q 16 -n 20 -R --ipv6-addr --mmap="$mem" $events
done
for tool in ib_atomic_bw ib_atomic_lat; do
	ok "$tool, compare and swap" speed 1 "$tool" -A CMP_AND_SWAP -n 50
done
for tool in ib_send_bw ib_send_lat; do
	ok "$tool, UD, all sizes" speed 12 "$tool" -c UD -a -n 20 -m 4096 "${v4[@]}"
	ok "$tool, UD, IPv6, events" over_ipv6 speed 1 "$tool" -c UD -s 1000 -n 20 -e "${v6[@]}"
	ok "$tool, UD, rdma_cm" speed 1 "$tool" -c UD -s 1000 -n 20 -R
done
ok "ib_write_bw in both directions" speed 1 ib_write_bw -b -n 20
ok "ib_send_bw in both directions" speed 1 ib_send_bw -b -n 20
ok "ib_read_bw in both directions" speed 1 ib_read_bw -b -n 20

ok "no fault counted" quiet srnic0
diag "$(quiet srnic0)"
ok "no fault counted at the other end" on_b ". /srnic/tests/vm/guest/perftest.sh; quiet srnic0"
ok "the BAR is free again" wait_for 5 full
ok "the other one, too" on_b "wait_for 5 eval '[ \$(cat $pool/available) = \$(cat $pool/size) ]'"
ok "the module can be unloaded" both "rdma link del srnic0 && rmmod srnic"
done_testing
