#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --cpus 2 --timeout 900
#
# The life of an srnic device: link add and its refusals, what the device says
# of itself, GIDs, port state, network namespaces, and every way to its end
# while programs have it open or are in the middle of traffic.
. /srnic/tests/vm/lib/lib.sh
guest=/srnic/tests/vm/guest

add() { rdma link add "$1" type srnic netdev "$2"; }
del() { rdma link del "$1"; }
exists() { [ -e "/sys/class/infiniband/$1" ]; }
gone() { wait_for 20 eval "! [ -e /sys/class/infiniband/$1 ]"; }
read_attr() { cat "/sys/class/infiniband/$1"; }
# ss prints what is bound, in this or in another namespace
listening() { ss -Hulna | grep -c ':4791 '; }
no_lines() { [ "$(listening)" = 0 ]; }
# is there a GID, soon?
gid() { wait_for 10 gid_index "${2:-srnic0}" "$1" >/dev/null; }
no_gid() { wait_for 10 eval "! gid_index srnic0 $1"; }

# one_line WHAT REGEX CMD...: CMD is refused, and the log has one line for it
one_line()
{
	local what=$1 regex=$2 mark=one_line.$RANDOM status=0 out log

	shift 2
	echo "<4>$mark" >/dev/kmsg
	out=$("$@" 2>&1) || status=$?
	log=$(dmesg --notime --level=emerg,alert,crit,err,warn | sed "1,/$mark/d")
	[ $status -ne 0 ] && [ "$(wc -l <<<"$log")" = 1 ] && [[ $log =~ $regex ]] &&
		pass "$what" && return
	fail "$what" || :
	diag "status $status: $out"
	diag "log:"
	diag "$log"
}

# The modules of others first: what they say is not ours.
modprobe 8021q && modprobe veth && modprobe dummy && modprobe bridge && modprobe tun
modprobe ib_uverbs
modprobe rdma_ucm 2>/dev/null

### add, del

ok "link add loads the module" add srnic0 eth0
ok "it is loaded" grep -q ^srnic /proc/modules
like "the link is up" "$(rdma link show srnic0/1)" "state ACTIVE physical_state LINK_UP netdev eth0"
is "hca_type" "$(read_attr srnic0/hca_type)" srnic
is "parent" "$(read_attr srnic0/parent)" eth0
is "node GUID comes from the MAC" "$(read_attr srnic0/node_guid)" 5054:00ff:fe77:0001
is "two sockets for port 4791" "$(listening)" 2
info=$(ibv_devinfo -d srnic0 -v)
like "ibv_devinfo: no SRQ, no MW" "$info" "max_mw:[[:space:]]+0.*max_srq:[[:space:]]+0"
like "ibv_devinfo: port active" "$info" "state:[[:space:]]+PORT_ACTIVE"

names="sent_pkts rcvd_pkts duplicate_request out_of_seq_request rcvd_rnr_err
send_rnr_err rcvd_seq_err ack_deferred retry_exceeded_err
retry_rnr_exceeded_err completer_retry_err send_err link_downed rdma_sends
rdma_recvs icrc_err malformed_pkts unknown_qp bad_pkey bad_qkey bad_source
no_recv_wqe implied_nak timeouts local_drops key_unknown key_stale key_pd
key_access key_bounds key_state key_revoked key_qp"
stat=$(rdma statistic show link srnic0/1)
missing=
for i in $names; do
	[[ $stat =~ $i\ [0-9] ]] || missing+=" $i"
done
is "all counters are there" "$missing" ""

### refusals: one line each

one_line "a second link on a netdev" "eth0: carries an srnic device" add srnic1 eth0
fails "a second link of the same name" add srnic0 eth1
one_line "the loopback device" "lo: is not an Ethernet device" add srnic1 lo
ip link add link eth0 name eth0.5 type vlan id 5
one_line "a VLAN" "eth0.5: is a VLAN: add the link to eth0" add srnic1 eth0.5
ip tuntap add tun0 mode tun
one_line "a netdev that isn't Ethernet" "tun0: is not an Ethernet" add srnic1 tun0
ip link add dummy0 mtu 335 type dummy
one_line "a small MTU" "dummy0: has an MTU of 335" add srnic1 dummy0
ip link set dummy0 mtu 336
ok "the smallest MTU" add srnic1 dummy0
like "it carries 256 bytes" "$(ibv_devinfo -d srnic1)" "active_mtu:[[:space:]]+256"
ok "link del" del srnic1
ip link add br0 type bridge
ip link set dummy0 master br0
one_line "a netdev of a bridge" "dummy0: belongs to br0" add srnic1 dummy0
ip link del br0
ip link del dummy0
ip link del tun0
one_line "a provider of another ABI" "ABI version 77.*version 1" $guest/link_abi.py 77
one_line "a provider that says nothing" "ABI version 0.*version 1" $guest/link_abi.py
ok "the right ABI version" $guest/link_abi.py 1

ok "link del" del srnic0
ok "the device is gone" eval "! exists srnic0"
ok "so are the sockets" no_lines
ok "rmmod" rmmod srnic

modprobe rdma_rxe
modprobe srnic
one_line "rdma_rxe has the port" "UDP port 4791 is taken.*rdma_rxe" add srnic0 eth0
rmmod rdma_rxe
ok "without it" add srnic0 eth0
rmmod srnic

for i in 7 24 x -1; do
	fails "mpt_order=$i" modprobe srnic mpt_order=$i
done
modprobe srnic mpt_order=8
add srnic0 eth0
like "mpt_order=8" "$(ibv_devinfo -d srnic0 -v)" "max_mr:[[:space:]]+256"
rmmod srnic

### GIDs

modprobe srnic
add srnic0 eth0
ok "GID of the IPv4 address" gid 10.77.0.1
ok "GID of the IPv6 address" gid fd77::1
ip addr add 10.99.1.1/24 dev eth0
ok "an IPv4 address is added" gid 10.99.1.1
ip addr add fd99::5/64 dev eth0 nodad
ok "an IPv6 address is added" gid fd99::5
ip link set eth0.5 up
ip addr add 10.99.5.1/24 dev eth0.5
ok "an address of a VLAN" gid 10.99.5.1
ip addr del 10.99.1.1/24 dev eth0
ip addr del fd99::5/64 dev eth0
ok "the IPv4 address is taken away" no_gid 10.99.1.1
ok "the IPv6 address is taken away" no_gid fd99::5

# to oneself, over an address: through the loopback device
self()
{
	local ip=$1 status=0

	shift
	timeout 60 ib_send_bw -d srnic0 -x "$(gid_index srnic0 "$ip")" -s 9000 -n 20 \
		-p 19000 -F "$@" >/tmp/self.log 2>&1 &
	wait_listen 19000
	timeout 60 ib_send_bw -d srnic0 -x "$(gid_index srnic0 "$ip")" -s 9000 -n 20 \
		-p 19000 -F "$@" 127.0.0.1 2>&1 || status=$?
	wait $! || status=$?
	cat /tmp/self.log
	return $status
}
ok "traffic with oneself, IPv4" self 10.77.0.1
ok "traffic with oneself, IPv6" self fd77::1
ok "traffic with oneself, VLAN" self 10.99.5.1
ip link del eth0.5
ok "the VLAN is taken away" no_gid 10.99.5.1

### port state and MTU

stdbuf -oL ibv_asyncwatch -d srnic0 >/tmp/events 2>&1 &
watch=$!
wait_for 10 grep -q "async event" /tmp/events
downed=$(counter srnic0 link_downed)
ip link set eth0 down
like "down" "$(rdma link show srnic0/1)" "state DOWN physical_state DISABLED"
is "link_downed" "$(counter srnic0 link_downed)" $((downed + 1))
ok "a program is told" wait_for 10 grep -Eqi "port.err" /tmp/events
ip link set eth0 up
ok "up" wait_for 10 eval 'rdma link show srnic0/1 | grep -q "state ACTIVE physical_state LINK_UP"'
ok "a program is told" wait_for 10 grep -Eqi "port.active" /tmp/events
kill $watch
diag "$(cat /tmp/events)"
ip addr add fd77::1/64 dev eth0 nodad 2>/dev/null
for i in 336:256 591:256 592:512 1103:512 1104:1024 1500:1024 2128:2048 4175:2048 4176:4096; do
	ip link set eth0 mtu "${i%:*}" 2>/dev/null || { skip "MTU ${i%:*}" "the netdev can't"; continue; }
	like "MTU ${i%:*}" "$(ibv_devinfo -d srnic0)" "active_mtu:[[:space:]]+${i#*:} "
done
ip link set eth0 mtu 4200
ip addr add fd77::1/64 dev eth0 nodad 2>/dev/null
del srnic0

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
ok "no netdev is held" eval '! dmesg | grep -q "waiting for .* to become free"'
done_testing
