#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --cpus 2 --timeout 1500
#
# Network namespaces, and every way to the end of a link, while programs have it
# open or are in the middle of traffic, and all of them at once.
# link_end_debug.t does the same on the debug kernel.
. /srnic/tests/vm/lib/lib.sh
guest=/srnic/tests/vm/guest
. $guest/link.sh

modprobe veth
modprobe ib_uverbs
modprobe rdma_ucm 2>/dev/null
modprobe srnic

### network namespaces

pair()
{
	ip netns add n1 && ip netns add n2 &&
	ip link add v1 netns n1 type veth peer name v2 netns n2 &&
	ip -n n1 link set lo up && ip -n n2 link set lo up &&
	ip -n n1 addr add 10.60.0.1/24 dev v1 && ip -n n2 addr add 10.60.0.2/24 dev v2 &&
	ip -n n1 addr add fd60::1/64 dev v1 nodad && ip -n n2 addr add fd60::2/64 dev v2 nodad &&
	ip -n n1 link set v1 mtu 4200 up && ip -n n2 link set v2 mtu 4200 up
}
ns_add() { ip netns exec "$1" rdma link add "$2" type srnic netdev "$3"; }
ns_del() { ip netns del n1; ip netns del n2; }

# ns_perf NET [OPTION]...: s1 in n1 writes to s2 in n2
ns_perf()
{
	local status=0 net=$1

	shift
	timeout 100 ip netns exec n2 ib_write_bw -d s2 -x "$(gid_index s2 "${net}2")" \
		-p 19001 -F "$@" >/tmp/ns.log 2>&1 &
	wait_for 20 eval "ip netns exec n2 ss -Hltn | grep -q :19001"
	timeout 100 ip netns exec n1 ib_write_bw -d s1 -x "$(gid_index s1 "${net}1")" \
		-p 19001 -F "$@" 10.60.0.2 2>&1 || status=$?
	wait $! || status=$?
	cat /tmp/ns.log
	return $status
}
ok "two namespaces" pair
ok "a link in each" eval "ns_add n1 s1 v1 && ns_add n2 s2 v2"
ok "with sockets of their own" eval '[ "$(ip netns exec n1 ss -Hulna | grep -c :4791)" = 2 ] && no_lines'
gid fd60::1 s1
gid fd60::2 s2
ok "traffic between them, IPv4" ns_perf 10.60.0. -s 65536 -n 100
ok "traffic between them, IPv6" ns_perf fd60:: -s 65536 -n 100
# ns_rping IP: from n1 to IP in n2, through the connection manager
ns_rping()
{
	local status=0

	timeout 60 ip netns exec n2 rping -s -a "$1" -C 10 >/tmp/ns.log 2>&1 &
	sleep 1
	timeout 60 ip netns exec n1 rping -c -a "$1" -C 10 -v 2>&1 || status=$?
	wait $! || status=$?
	cat /tmp/ns.log
	return $status
}
ok "the connection manager, IPv4" ns_rping 10.60.0.2
ok "the connection manager, IPv6" ns_rping fd60::2
if modprobe 8021q && ip -n n1 link add v1.5 link v1 type vlan id 5 2>/dev/null; then
	ip -n n2 link add v2.5 link v2 type vlan id 5
	for i in 1 2; do
		ip -n n$i addr add 10.65.0.$i/24 dev v$i.5
		ip -n n$i link set v$i.5 up
		gid 10.65.0.$i s$i
	done
	ok "traffic on a VLAN" ns_perf 10.65.0. -s 65536 -n 100
else
	skip "traffic on a VLAN" "the kernel has none"
fi
for i in 1 2; do
	ip netns exec n$i ethtool -K v$i gro on rx-gro-list on rx-udp-gro-forwarding on
done
ok "traffic with fraglist GRO" ns_perf 10.60.0. -s 65536 -n 200
is "it is taken apart again" "$(counter s2 icrc_err) $(counter s2 malformed_pkts)" "0 0"
ip netns exec n1 ip link set v1 netns n2
ok "the netdev moves: its link ends" gone s1
ok "the sockets end with it" eval '[ "$(ip netns exec n1 ss -Hulna | grep -c :4791)" = 0 ]'
ok "the other link stays" exists s2
ns_del
ok "the namespace ends: so does its link" gone s2

pair
ns_add n1 s1 v1
ns_add n2 s2 v2
ip -n n1 link del v1
ok "netdev removal takes the links of both ends" eval "gone s1 && gone s2"
ns_del

### the end in the middle of traffic

# flowing DEV: packets arrive there
flowing()
{
	local from

	from=$(counter "$1" rcvd_pkts)
	wait_for 60 eval "[ \$(counter $1 rcvd_pkts) -gt $((from + 500)) ]"
}

# start_traffic: srnic0 with itself, until it is ended
start_traffic()
{
	ib_write_bw -d srnic0 -x "$(gid_index srnic0 10.77.0.1)" -s 65536 -D 120 \
		-q 2 -p 19002 -F >/tmp/t1.log 2>&1 &
	t1=$!
	wait_listen 19002
	ib_write_bw -d srnic0 -x "$(gid_index srnic0 10.77.0.1)" -s 65536 -D 120 \
		-q 2 -p 19002 -F 127.0.0.1 >/tmp/t2.log 2>&1 &
	t2=$!
}
stop_traffic()
{
	kill -9 $t1 $t2 2>/dev/null
	wait $t1 $t2 2>/dev/null
	true
}
holder() { stdbuf -oL $guest/link_holder.py srnic0 >/tmp/holder 2>&1 & h=$!; wait_for 30 grep -q ready /tmp/holder; }
holder_said() { wait $h; grep -q "$1" /tmp/holder || { cat /tmp/holder; false; }; }

modprobe srnic
add srnic0 eth0
gid 10.77.0.1 srnic0
start_traffic
ok "kill -9 in the middle of traffic: it flows" flowing srnic0
stop_traffic
ok "nothing stays behind" wait_for 10 eval '! rdma resource show qp link srnic0/1 | grep -q ib_write_bw'
start_traffic
ok "link del in the middle of traffic: it flows" flowing srnic0
holder
details=$(for i in mr cq qp; do rdma -dd resource show $i; done)
like "details of resources" "$details" "drv_memory ram.*drv_armed.*drv_sq_una_psn"
ok "link del" timeout 30 rdma link del srnic0
ok "an idle program that had it open sees the device go" holder_said "fatal.*EIO"
stop_traffic

add srnic0 eth0
gid 10.77.0.1 srnic0
start_traffic
ok "rmmod in the middle of traffic: it flows" flowing srnic0
holder
ok "rmmod" timeout 30 rmmod srnic
ok "an idle program that had it open sees the device go" holder_said "fatal.*EIO"
stop_traffic

modprobe srnic
pair
ns_add n1 s1 v1
ns_add n2 s2 v2
gid fd60::1 s1
gid fd60::2 s2
ns_perf fd60:: -s 65536 -D 60 >/dev/null 2>&1 &
perf=$!
ok "netdev removal in the middle of traffic: it flows" flowing s2
ok "netdev removal" timeout 60 ip -n n1 link del v1
ok "the links are gone" eval "gone s1 && gone s2"
pkill -9 ib_write_bw
wait $perf
ns_del

pair
ns_add n1 s1 v1
ns_add n2 s2 v2
gid 10.60.0.1 s1
gid 10.60.0.2 s2
ns_perf 10.60.0. -s 65536 -D 60 >/dev/null 2>&1 &
perf=$!
ok "namespace exit in the middle of traffic: it flows" flowing s2
pkill -9 ib_write_bw
ns_del
ok "the links are gone" eval "gone s1 && gone s2"
wait $perf

### everything at once

# Each round: link add, link del, netdev removal and namespace exit at the same
# time; now and then the module goes as well.
race()
{
	local i

	for i in $(seq "$1"); do
		modprobe srnic
		pair
		{ ns_add n1 s1 v1; rdma link del s1; } &
		{ ns_add n2 s2 v2; } &
		case $((i % 4)) in
		0)	ip -n n1 link del v1 & ;;
		1)	ip netns del n1 & ip netns del n2 & ;;
		2)	rmmod srnic & rdma link del s2 & ;;
		3)	ip -n n2 link set v2 netns n1 & rdma link del s1 & ;;
		esac
		wait
		ip netns del n1
		ip netns del n2
	done 2>/dev/null
	gone s1 && gone s2
}
rounds=12
[ -z "$KERNEL_DEBUG" ] || rounds=6
ok "all ends racing" race $rounds
ok "the module can be unloaded" eval "modprobe srnic && rmmod srnic"
if [ -n "$KERNEL_DEBUG" ]; then
	leaks=/sys/kernel/debug/kmemleak
	echo scan >$leaks
	sleep 6
	echo scan >$leaks
	is "no memory is lost" "$(grep -A20 unreferenced $leaks | grep -E 'srnic|ib_|uverbs')" ""
fi
ok "no netdev is held" eval '! dmesg | grep -q "waiting for .* to become free"'
done_testing
