#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --cpus 2 --donors bar:16M --timeout 900
#
# Network namespaces, and every way to the end of a link, while programs have it
# open or are in the middle of traffic, and all of them at once. On the debug
# kernel (link_end_debug.t) all of them; here those that teardown.t has not
# between two hosts.
. /srnic/tests/vm/lib/lib.sh
. /srnic/tests/vm/guest/link.sh
. /srnic/tests/vm/guest/ends.sh

modprobe veth
modprobe ib_uverbs
modprobe rdma_ucm 2>/dev/null
modprobe srnic

### network namespaces


# ns_traffic NET: s1 in n1 and s2 in n2 write to each other
ns_traffic()
{
	local status=0 one

	timeout 60 traffic -l -b -n 200 s1 "${1}1" /tmp/meet write 2>&1 &
	one=$!
	timeout 60 traffic -b -n 200 s2 "${1}2" /tmp/meet write 2>&1 || status=$?
	wait $one || status=$?
	return $status
}
ok "two namespaces" pair
ok "a link in each" eval "ns_add n1 s1 v1 && ns_add n2 s2 v2"
ok "with sockets of their own" eval '[ "$(ip netns exec n1 ss -Hulna | grep -c :4791)" = 2 ] && no_lines'
ok "traffic between them, IPv4" ns_traffic 10.60.0.
ok "traffic between them, IPv6" ns_traffic fd60::
# ns_rping IP: from n1 to IP in n2, through the connection manager
ns_rping()
{
	local status=0

	timeout 60 ip netns exec n2 rping -s -a "$1" -C 10 >/tmp/ns.log 2>&1 &
	wait_for 20 eval "rdma resource show cm_id | grep -q LISTEN"
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
	done
	ok "traffic on a VLAN" ns_traffic 10.65.0.
else
	skip "traffic on a VLAN" "the kernel has none"
fi
for i in 1 2; do
	ip netns exec n$i ethtool -K v$i gro on rx-gro-list on rx-udp-gro-forwarding on
done
ok "traffic with fraglist GRO" ns_traffic 10.60.0.
is "it is taken apart again" "$(counter s2 icrc_err) $(counter s2 malformed_pkts)" "0 0"
ip netns exec n1 ip link set v1 netns n2
ok "the netdev moves: its link ends" gone s1
ok "the sockets end with it" wait_for 10 eval '[ "$(ip netns exec n1 ss -Hulna | grep -c :4791)" = 0 ]'
ok "the other link stays" exists s2
ok "the namespaces end: so does the other link" ns_del

### the end in the middle of traffic

[ -n "$KERNEL_DEBUG" ] || : "${CASES=donor_answerer donor_sender veth namespace_program
	module_both cm move nic_pulled exclusive}"
all_ends

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
leak_check
ok "no netdev is held" eval '! dmesg | grep -q "waiting for .* to become free"'
done_testing
