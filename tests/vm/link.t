#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --cpus 2 --timeout 900
#
# An srnic device: link add and its refusals, what it says of itself, GIDs that
# follow addresses, port state, MTU. How it ends: link_end.t.
. /srnic/tests/vm/lib/lib.sh
guest=/srnic/tests/vm/guest
. $guest/link.sh

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

# What the library promises to whoever waits for his own process.
true &
mine=$!
wait_for 1 false
is "waiting leaves \$! alone" "$!" "$mine"

# The modules of others first: what they say is not ours.
modprobe 8021q && modprobe veth && modprobe dummy && modprobe bridge
modprobe tun 2>/dev/null
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
like "ibv_devinfo: no SRQ" "$info" "max_srq:[[:space:]]+0"
like "ibv_devinfo: port active" "$info" "state:[[:space:]]+PORT_ACTIVE"

names="sent_pkts rcvd_pkts duplicate_request out_of_seq_request rcvd_rnr_err
send_rnr_err rcvd_seq_err ack_deferred retry_exceeded_err
retry_rnr_exceeded_err completer_retry_err send_err link_downed rdma_sends
rdma_recvs icrc_err malformed_pkts unknown_qp bad_pkey bad_qkey bad_source
no_recv_wqe implied_nak timeouts local_drops key_unknown key_stale key_pd
key_access key_bounds key_state key_revoked key_qp cache_hits cache_misses
cache_invalidations"
stat=$(rdma statistic show link srnic0/1)
missing=
for i in $names; do
	[[ $stat =~ $i\ [0-9] ]] || missing+=" $i"
done
is "all counters are there" "$missing" ""

### refusals: one line each

one_line "a second link on a netdev" "eth0: carries an srnic device" add srnic1 eth0
# ib_core's ENFILE
like "a second link of the same name" "$(add srnic0 eth1 2>&1)/$?" \
	"Too many open files in system/[1-9]"
one_line "the loopback device" "lo: is not an Ethernet device" add srnic1 lo
ip link add link eth0 name eth0.5 type vlan id 5
one_line "a VLAN" "eth0.5: is a VLAN: add the link to eth0" add srnic1 eth0.5
if ip tuntap add tun9 mode tun 2>/dev/null; then
	one_line "a netdev that isn't Ethernet" "tun9: is not an Ethernet" add srnic1 tun9
	ip link del tun9
else
	skip "a netdev that isn't Ethernet" "the kernel has no tun"
fi
ip link add dummy9 mtu 339 type dummy
one_line "a small MTU" "dummy9: has an MTU of 339" add srnic1 dummy9
ip link set dummy9 mtu 340
ok "the smallest MTU" add srnic1 dummy9
like "it carries 256 bytes" "$(ibv_devinfo -d srnic1)" "active_mtu:[[:space:]]+256"
ok "link del" del srnic1
ip link add br0 type bridge
ip link set dummy9 master br0
one_line "a netdev of a bridge" "dummy9: belongs to br0" add srnic1 dummy9
ip link del br0
ip link del dummy9
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
for i in 340:256 595:256 596:512 1107:512 1108:1024 1500:1024 2132:2048 4179:2048 4180:4096; do
	ip link set eth0 mtu "${i%:*}" 2>/dev/null || { skip "MTU ${i%:*}" "the netdev can't"; continue; }
	like "MTU ${i%:*}" "$(ibv_devinfo -d srnic0)" "active_mtu:[[:space:]]+${i#*:} "
done
ip link set eth0 mtu 339
like "MTU 339: the port is down" "$(rdma link show srnic0/1)" "state DOWN physical_state POLLING"
ip link set eth0 mtu 4200
like "and up again" "$(rdma link show srnic0/1)" "state ACTIVE physical_state LINK_UP"
ip addr add fd77::1/64 dev eth0 nodad 2>/dev/null
del srnic0
done_testing
