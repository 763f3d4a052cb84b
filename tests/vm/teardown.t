#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --hosts 2 --donors a:bar,b:bar --timeout 900
#
# The end in the middle of traffic between two hosts: of a program, a link, the
# module, the netdev, a namespace; at the server and at the client. Each time
# the other host's program ends by itself, with an error: who sends is told by
# the transport (so where the client's device goes, both send, or the server
# sees the client's program go); the module can be unloaded on both hosts; and
# after that all works again. On the debug kernel: link_end_debug.t.
# shellcheck disable=SC2034,SC2154 # what is shared with ends.sh
. /srnic/tests/vm/lib/lib.sh
. /srnic/tests/vm/guest/perftest.sh
. /srnic/tests/vm/guest/link.sh
. /srnic/tests/vm/guest/ends.sh
modprobe macvlan 2>/dev/null
bar=$(donate_bar) || bail "no /dev/p2pmem0"
from_a
wait_for 60 on_b test -e "$bar" || bail "no $bar on b"
bar_pool=/sys/class/p2pmem/${bar#/dev/}
port=19100

# fresh: the module out and in again, with its link
fresh()
{
	rdma link del srnic0 2>/dev/null
	! [ -e /sys/module/srnic ] || rmmod srnic || return
	rdma_up srnic && wait_for 20 gid_index srnic0 "$MY_IP" >/dev/null
}
renew() { both "$(declare -f fresh); fresh"; }

# what "begin" of ends.sh calls; the programs meet over the control network
server_dev=srnic0 server_ip=$PEER_IP client_dev=srnic0
flow()
{
	local op=$1

	shift
	port=$((port + 1))
	on_b traffic -l "$@" $server_dev $server_ip $CONTROL_B:$port "$op" >/tmp/said.2 2>&1 &
	pid[2]=$!
	traffic "$@" $client_dev "$MY_IP" $CONTROL_B:$port "$op" >/tmp/said.1 2>&1 &
	pid[1]=$!
	flowing "$@"
}
prepare=true

# again: after each case
again()
{
	pid=()
	ok "$what: the module unloads on both, comes again" renew
}

### with perftest

received() { [ "$(counter srnic0 rcvd_pkts)" -gt "$1" ]; }

# perftest WHAT TOOL [OPTION]...: for much longer than the test needs
perftest()
{
	local tool=$2 before

	what=$1
	shift 2
	port=$((port + 1))
	rm -f /tmp/said.*
	on_b "$tool -d srnic0 -D 300 -s 65536 -q 2 -F -p $port $*" >/tmp/said.2 2>&1 &
	pid[2]=$!
	before=$(counter srnic0 rcvd_pkts)
	if on_b wait_listen $port; then
		"$tool" -d srnic0 -D 300 -s 65536 -q 2 -F -p $port "$@" "$PEER_IP" >/tmp/said.1 2>&1 &
		pid[1]=$!
	fi
	ok "$what: traffic" wait_for 60 received $((before + 200)) || diag "$(cat /tmp/said.*)"
}

# error I: program I ends by itself, soon, and in an error
error()
{
	local status=0

	if wait_for 30 eval "! kill -0 ${pid[$1]} 2>/dev/null"; then
		wait "${pid[$1]}" || status=$?
	else
		status="it still runs"
	fi
	pid=()
	if [[ $status != *runs ]] && [ "$status" -gt 0 ] && [ "$status" -lt 124 ]; then
		pass "$what: the other program ends with an error"
	else
		fail "$what: the other program ends with an error"
	fi
	diag "status $status: $(tail -n 3 "/tmp/said.$1")"
	pkill -9 '^ib_'
	on_b "pkill -9 '^ib_'"
	wait "${pid[@]}" 2>/dev/null
	again
}

end_kill_server()
{
	perftest "kill -9 of the server" ib_send_bw
	on_b "pkill -9 ib_send_bw"
	error 1
}

end_kill_client()
{
	perftest "kill -9 of the client, its memory in a BAR" ib_read_bw --mmap="$bar"
	slay 1
	ok "$what: the BAR is free" wait_for 10 bar_free
	error 2
}

end_link_server()
{
	perftest "link del at the server" ib_read_bw
	ok "$what" on_b timeout 20 rdma link del srnic0
	error 1
}

### with a program that says what ended it

end_link_client()
{
	begin "link del at the client" write
	ok "$what" timeout 20 rdma link del srnic0
	over "$fatal" peer
	again
}

end_module_server()
{
	begin "rmmod at the server" write -w
	ok "$what" on_b timeout 20 rmmod srnic
	over "$retry" "$fatal"
	again
}

end_module_server_bar()
{
	begin "rmmod at the server, of READs from a BAR" read -w -m "$bar"
	ok "$what" on_b timeout 20 rmmod srnic
	over "$retry" "$fatal"
	ok "$what: the BAR is free" on_b "bar_pool=$bar_pool; $(declare -f bar_free); wait_for 10 bar_free"
	again
}

end_module_client()
{
	begin "rmmod at the client" send -b
	ok "$what" timeout 20 rmmod srnic
	over "$fatal" "$retry"
	again
}

end_netdev_server()
{
	begin "the server's NIC is pulled" write -w
	ok "$what" on_b "$(declare -f nic_bdf unplug); unplug 20 srnic0"
	over "$retry" "$fatal"
	ok "$what: it comes again" on_b "$(declare -f addresses replug); replug"
	again
}

end_netdev_client()
{
	begin "the client's NIC is pulled" read -b
	ok "$what" unplug 20 srnic0
	over "$fatal|$retry" "$retry"
	ok "$what: it comes again" replug
	again
}

end_namespace_server()
{
	if ! on_b "ip netns add n && ip link add link eth0 name mv0 netns n type macvlan mode bridge"; then
		skip "namespace exit at the server" "no macvlan"
		return
	fi
	on_b "ip -n n link set mv0 up; ip -n n addr add 10.77.0.12/24 dev mv0
		ip netns exec n rdma link add srnic1 type srnic netdev mv0"
	server_dev=srnic1 server_ip=10.77.0.12
	begin "namespace exit at the server" write -w
	ok "$what" on_b "ip netns del n; wait_for 20 eval '! [ -e /sys/class/infiniband/srnic1 ]'"
	over "$retry" "$fatal"
	server_dev=srnic0 server_ip=$PEER_IP
	again
}

end_namespace_client()
{
	rdma link del srnic0
	ip netns add n
	ip link set eth0 netns n
	addresses -n n
	ns_add n srnic1 eth0
	client_dev=srnic1
	begin "namespace exit at the client, with the NIC in it" send -b
	ip netns del n
	ok "$what: the link is gone" gone srnic1
	ok "$what: the NIC is back" wait_for 20 test -e /sys/class/net/eth0
	over "$fatal|$retry" "$retry"
	client_dev=srnic0
	addresses
	again
}

ok "both hosts are up" renew
for i in ${CASES:-kill_server kill_client link_server link_client module_server
		module_server_bar module_client netdev_server netdev_client
		namespace_server namespace_client}; do
	"end_$i"
done
ok "all works again" speed 1 ib_write_bw -n 5
ok "all modules unload" both "rdma link del srnic0; rmmod srnic && rmmod p2pmem_bar && rmmod p2pmem"
done_testing
