#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --hosts 2 --donors a:bar,b:bar --timeout 1200
#
# The end in the middle of traffic between two hosts: of a program, a link, the
# module, the netdev, a namespace; on the side that sends and on the one that
# answers. Each time the other side's program ends by itself, with an error;
# all modules can be unloaded; and after that all works again.
# teardown_debug.t does the same on the debug kernel.
. /srnic/tests/vm/lib/lib.sh
. /srnic/tests/vm/guest/perftest.sh
modprobe macvlan 2>/dev/null
mem=$(donate_bar) || bail "no /dev/p2pmem0"
from_a
wait_for 60 on_b test -e "$mem" || bail "no $mem on b"
# on the debug kernel all takes longer
slow=${KERNEL_DEBUG:+4}
slow=${slow:-1}
pool=/sys/class/p2pmem/${mem#/dev/}
port=19100

# up HOST: the module and the link
up()
{
	"on_$1" "rdma_up srnic && wait_for 20 gid_index srnic0 \$MY_IP" >/dev/null
}
down() { "on_$1" "rdma link del srnic0; rmmod srnic"; }
# all of it out and in again, on both hosts, and it works
renew()
{
	down a 2>/dev/null
	down b 2>/dev/null
	both "! grep -q ^srnic /proc/modules" || { echo "srnic is in use"; return 1; }
	up a && up b && speed 1 ib_write_bw -n 5
}

received() { [ "$(counter srnic0 rcvd_pkts)" -gt "$1" ]; }
full() { [ "$(cat "$pool/available")" = "$(cat "$pool/size")" ]; }

# traffic TOOL [OPTION]...: from a to b, for much longer than the test needs;
# $ta and $tb are the two ends
traffic()
{
	local tool=$1 before

	shift
	port=$((port + 1))
	: "${dev_b:=srnic0}" "${ip_b:=$PEER_IP}"
	on_b "${in_b:-} $tool -d $dev_b -x \$(gid_index $dev_b $ip_b) -D 300 -s 65536 \
		-q 2 -F -p $port $*" >/tmp/end.b 2>&1 &
	tb=$!
	on_b "wait_for 20 eval '${in_b:-} ss -Hltn | grep -q :$port'" ||
		{ echo "no server:"; cat /tmp/end.b; return 1; }
	"$tool" -d srnic0 -x "$(gid_index srnic0 "$MY_IP")" -D 300 -s 65536 \
		-q 2 -F -p "$port" "$@" "$ip_b" >/tmp/end.a 2>&1 &
	ta=$!
	before=$(counter srnic0 rcvd_pkts)
	wait_for $((30 * slow)) received $((before + 200)) ||
		{ echo "no traffic:"; cat /tmp/end.a /tmp/end.b; return 1; }
}

# ends PID HOST: by itself, soon, and in an error
ends()
{
	local status=0 start
	start=$(date +%s)

	wait_for $((20 * slow)) eval "! kill -0 $1 2>/dev/null" ||
		{ echo "still runs:"; cat "/tmp/end.$2"; return 1; }
	wait "$1" || status=$?
	echo "status $status after $(($(date +%s) - start)) s"
	tail -n 5 "/tmp/end.$2"
	[ $status -gt 0 ] && [ $status -lt 124 ]
}

finish()
{
	pkill -9 '^ib_' 2>/dev/null
	on_b "pkill -9 '^ib_'" 2>/dev/null
	wait "$ta" "$tb" 2>/dev/null
	true
}

# begin WHAT TOOL...: not in a subshell, as ok is
begin()
{
	local what=$1

	shift
	if traffic "$@" >/tmp/begin 2>&1; then
		pass "$what: traffic"
	else
		fail "$what: traffic"
		diag "$(cat /tmp/begin)"
	fi
}
# over WHAT PID HOST
over()
{
	local start

	start=$(date +%s)
	if ends "$2" "$3" >/tmp/over 2>&1; then
		pass "$1: the program on $3 ends with an error"
	else
		fail "$1: the program on $3 ends with an error"
	fi
	diag "$(cat /tmp/over) ($(($(date +%s) - start)) s)"
	finish
	ok "$1: all works again" renew
}

# the card is pulled, and put in again
unplug()
{
	local bdf

	bdf=$(basename "$(dirname "$(readlink -f /sys/class/net/eth0/device)")")
	timeout "$1" sh -c "echo 1 >/sys/bus/pci/devices/$bdf/remove" &&
		! [ -e /sys/class/infiniband/srnic0 ] && ! [ -e /sys/class/net/eth0 ]
}
replug()
{
	echo 1 >/sys/bus/pci/rescan
	wait_for 20 test -e /sys/class/net/eth0 || return
	echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
	ip link set eth0 mtu 4200 up
	ip addr add "$MY_IP/24" dev eth0
	ip addr add "$MY_IP6/64" dev eth0 nodad
}
kill_server()
{
	what="kill -9 of the server"
	begin "$what" ib_send_bw
	on_b "pkill -9 ib_send_bw"
	over "$what" "$ta" a
}

kill_client_bar()
{
	what="kill -9 of the client, its memory in a BAR"
	begin "$what" ib_read_bw --mmap="$mem"
	pkill -9 ib_read_bw
	wait "$ta" 2>/dev/null
	ok "$what: the BAR is free" wait_for 10 full
	over "$what" "$tb" b
}

rmmod_server()
{
	what="rmmod at the server"
	begin "$what" ib_write_bw
	ok "$what" on_b timeout $((20 * slow)) rmmod srnic
	over "$what" "$ta" a
}

rmmod_server_bar()
{
	what="rmmod at the server, of READs from a BAR"
	begin "$what" ib_read_bw --mmap="$mem"
	ok "$what" on_b timeout $((20 * slow)) rmmod srnic
	over "$what" "$ta" a
}

rmmod_client()
{
	what="rmmod at the client"
	begin "$what" ib_send_bw
	ok "$what" timeout $((20 * slow)) rmmod srnic
	# it polls a ring that is its own by now
	pkill -9 ib_send_bw
	finish
	ok "$what: all works again" renew
}

link_client()
{
	what="link del at the client"
	begin "$what" ib_write_bw
	ok "$what" timeout $((20 * slow)) rdma link del srnic0
	pkill -9 ib_write_bw
	over "$what" "$tb" b
}

link_server()
{
	what="link del at the server"
	begin "$what" ib_read_bw
	ok "$what" on_b timeout $((20 * slow)) rdma link del srnic0
	over "$what" "$ta" a
}

netdev_server()
{
	what="netdev removal at the server"
	begin "$what" ib_write_bw
	ok "$what" on_b "$(declare -f unplug); unplug $((20 * slow))"
	# its TCP connection is gone as well: what ends it is the QP
	over_status=0
	ends "$ta" a >/tmp/over 2>&1 || over_status=$?
	is "$what: the program on a ends with an error" $over_status 0
	diag "$(cat /tmp/over)"
	on_b "pkill -9 ^ib_; $(declare -f replug); replug"
	finish
	ok "$what: all works again" renew
}

netdev_client()
{
	what="netdev removal at the client"
	begin "$what" ib_read_bw
	ok "$what" unplug $((20 * slow))
	finish
	replug
	ok "$what: all works again" renew
}

namespace_server()
{
	what="namespace exit at the server"
	if on_b "ip netns add n && ip link add link eth0 name mv0 netns n type macvlan mode bridge"; then
		on_b "ip -n n link set lo up; ip -n n link set mv0 up; ip -n n addr add 10.77.0.12/24 dev mv0"
		ok "$what: a link in it" on_b "ip netns exec n rdma link add srnic1 type srnic netdev mv0 &&
			wait_for 20 gid_index srnic1 10.77.0.12"
		dev_b=srnic1 ip_b=10.77.0.12 in_b="ip netns exec n"
		begin "$what" ib_write_bw
		on_b "ip netns del n; pkill -9 ib_write_bw"
		ok "$what: the link is gone" on_b "wait_for 20 eval '! [ -e /sys/class/infiniband/srnic1 ]'"
		unset dev_b ip_b in_b
		over "$what" "$ta" a
	else
		skip "$what" "no macvlan"
	fi
}

all="kill_server kill_client_bar rmmod_server rmmod_server_bar rmmod_client
	link_client link_server netdev_server netdev_client namespace_server"

ok "both hosts are up" renew
for i in ${CASES:-$all}; do
	"$i"
done

### nothing stays

ok "all modules unload" both "rdma link del srnic0; rmmod srnic && rmmod p2pmem_bar && rmmod p2pmem"
scan()
{
	# what is young isn't reported yet
	sleep 6
	echo scan >/sys/kernel/debug/kmemleak
	sleep 2
	echo scan >/sys/kernel/debug/kmemleak
	! grep -E -A 20 'srnic|p2pmem' /sys/kernel/debug/kmemleak
}
if [ -n "$KERNEL_DEBUG" ] && [ -e /sys/kernel/debug/kmemleak ]; then
	ok "no memory is lost" scan
	ok "no memory is lost on b" on_b "$(declare -f scan); scan"
fi
done_testing
