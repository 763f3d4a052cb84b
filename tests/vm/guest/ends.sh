# SPDX-License-Identifier: GPL-2.0
# The ends of a link in the middle of traffic, in one guest; after link.sh.
#
# Two sides, 1 and 2: namespace nI, a macvlan mI in it (both stand on one dummy
# netdev, so that one can go without the other), link sI. 1 sends, 2 answers.
# The programs run outside of the namespaces, so that those can end under their
# feet. Each case makes anew what the one before has ended: that it can, and
# that traffic flows, shows that all works again.
# shellcheck shell=bash

retry='wc transport retry counter exceeded'
fatal='fatal, then EIO'
pid=()
within=()
memory=()	# options for one of the programs: whose memory is in a BAR
# Each program loads all providers that there are: most of its start.
find /etc/libibverbs.d -name '*.driver' ! -name srnic.driver -delete

ns_add() { ip netns exec "$1" rdma link add "$2" type srnic netdev "$3"; }

side()
{
	local i=$1

	[ -e "/run/netns/n$i" ] || ip netns add "n$i"
	[ -e /sys/class/net/wire ] || ip link add wire mtu 4200 up type dummy
	ip -n "n$i" link show "m$i" >/dev/null 2>&1 ||
		ip link add link wire name "m$i" netns "n$i" mtu 4200 type macvlan mode bridge
	ip -n "n$i" -batch - <<-EOT || return
		link set lo up
		addr replace ${ip[i]}/24 dev m$i
		link set m$i up
	EOT
	exists "s$i" || ns_add "n$i" "s$i" "m$i"
}

# pair: v1 in n1 and v2 in n2, a veth; ns_del: their end. `netns del` returns before
# the namespace has gone, and a link's name is taken (ENFILE) for as long.
pair()
{
	local i

	ip -batch - <<-EOT || return
		netns add n1
		netns add n2
		link add v1 netns n1 mtu 4200 type veth peer name v2 netns n2 mtu 4200
	EOT
	for i in 1 2; do
		ip -n n$i -batch - <<-EOT || return
			link set lo up
			addr add 10.60.0.$i/24 dev v$i
			addr add fd60::$i/64 dev v$i nodad
			link set v$i up
		EOT
	done
}
ns_del()
{
	printf 'netns del n%d\n' 1 2 | ip -force -batch -
	gone s1 && gone s2
}

both_pairs()
{
	pair && ns_add n1 s1 v1 && ns_add n2 s2 v2
}

both_sides() { side 1 && side 2; }
# where the traffic is: between the two sides, or (nic DEV) of a link with itself
sides() { prepare=both_sides dev=(- s1 s2) ip=(- 10.61.0.1 10.61.0.2); }
nic() { prepare=true dev=(- "$1" "$1") ip=(- "$MY_IP" "$MY_IP"); }
pairs() { prepare=both_pairs dev=(- s1 s2) ip=(- fd60::1 fd60::2); }
sides

# flowing [OPTION...]: it flows; with -b in both directions
flowing()
{
	wait_for 60 grep -qs '^flows' /tmp/said.1 &&
		{ [[ " $* " != *" -b "* ]] || wait_for 60 grep -qs '^flows' /tmp/said.2; }
}

# flow OP [OPTION...]: between the programs pid[1] and pid[2]; lasts until
# something ends it
flow()
{
	local op=$1

	shift
	# shellcheck disable=SC2086 # words, or none
	${within[2]} traffic -l "$@" ${memory[2]} "${dev[2]}" "${ip[2]}" /tmp/meet "$op" >/tmp/said.2 2>&1 &
	pid[2]=$!
	# shellcheck disable=SC2086
	${within[1]} traffic "$@" ${memory[1]} "${dev[1]}" "${ip[1]}" /tmp/meet "$op" >/tmp/said.1 2>&1 &
	pid[1]=$!
	flowing "$@"
}

# begin WHAT [OP [OPTION...]]: not in a subshell, as the programs are ours. With
# idle=I also a program that has everything open there and does nothing: pid[3]
begin()
{
	what=$1
	shift
	if $prepare >/tmp/begin 2>&1 && start_idle && flow "$@" && idle_ready; then
		pass "$what: traffic"
	else
		fail "$what: traffic"
		diag "$(tail -n 20 /tmp/begin /tmp/said.*)"
	fi
}
start_idle()
{
	rm -f /tmp/said.*
	[ -n "$idle" ] || return 0
	traffic "${dev[$idle]}" "${ip[$idle]}" - idle >/tmp/said.3 2>&1 &
	pid[3]=$!
}
idle_ready() { [ -z "$idle" ] || wait_for 60 grep -qs '^ready' /tmp/said.3; }

bar_free() { cmp "$bar_pool/available" "$bar_pool/size"; }

# slay I: kill -9 of program I; the shell says nothing about it
slay()
{
	kill -9 "${pid[$1]}"
	wait "${pid[$1]}" 2>/dev/null
}

# ends I REGEX: program I ends by itself; REGEX is what it says about that
ends()
{
	wait_for 60 eval "! kill -0 ${pid[$1]} 2>/dev/null" || echo "still runs"
	[[ $(tail -n 1 "/tmp/said.$1") =~ ^($2)$ ]] || { cat "/tmp/said.$1"; return 1; }
}

# over REGEX-1 REGEX-2: the end of both programs (a killed one: ""), and of the
# idle one if there is one
over()
{
	[ -z "$1" ] || ok "$what: the program that sends ends: $1" ends 1 "$1"
	[ -z "$2" ] || ok "$what: the program that answers ends: $2" ends 2 "$2"
	[ -z "${pid[3]}" ] || ok "$what: an idle program sees the device go" ends 3 "$fatal"
	kill -9 "${pid[@]}" 2>/dev/null
	wait "${pid[@]}" 2>/dev/null
	pid=()
}

### one side ends; where it sends, the other program sees the first one go. Where
### it answers, the sender may be told sooner than the device has gone: -w

end_kill_sender()
{
	begin "kill -9 of the sender" write
	slay 1
	over "" peer
	ok "$what: nothing stays" wait_for 10 eval '! rdma resource show qp | grep traffic'
}

end_kill_answerer()
{
	begin "kill -9 of the answerer, its memory in a BAR" read -m "$bar"
	slay 2
	over "$retry" ""
	ok "$what: nothing stays" wait_for 10 eval '! rdma resource show qp | grep traffic'
	ok "$what: the BAR is free" wait_for 10 bar_free
}

end_link_sender()
{
	idle=1 begin "link del at the sender" send
	like "details of resources" "$(for i in mr cq qp; do rdma -dd resource show $i; done)" \
		"drv_memory ram.*drv_armed.*drv_sq_una_psn"
	ok "$what" timeout 60 rdma link del s1
	over "$fatal" peer
}

end_link_answerer()
{
	idle=2 begin "link del at the answerer" atomic -w
	ok "$what" timeout 60 rdma link del s2
	over "$retry" "$fatal"
}

# Where the netdev goes first, the sender's last packets get nowhere: on a slow
# machine that may end it before the device does.
end_netdev_sender()
{
	idle=1 begin "netdev removal at the sender" read
	ok "$what" timeout 60 ip -n n1 link del m1
	ok "$what: the link is gone" gone s1
	over "$fatal|$retry" peer
}

end_netdev_answerer()
{
	idle=2 begin "netdev removal at the answerer, memory in a BAR" write -w -m "$bar"
	ok "$what" timeout 60 ip -n n2 link del m2
	ok "$what: the link is gone" gone s2
	over "$retry" "$fatal"
}

end_move()
{
	idle=2 begin "the answerer's netdev moves to another namespace" send -w
	ok "$what" timeout 60 ip -n n2 link set m2 netns n1
	ok "$what: the link is gone" gone s2
	over "$retry" "$fatal"
	ip -n n1 link del m2
}

end_namespace_sender()
{
	idle=1 begin "namespace exit at the sender" write
	ip netns del n1
	ok "$what: the link is gone" gone s1
	over "$fatal|$retry" peer
}

end_namespace_answerer()
{
	idle=2 begin "namespace exit at the answerer" read -w
	ip netns del n2
	ok "$what: the link is gone" gone s2
	over "$retry" "$fatal"
}

# The namespace lives on until the program that is in it has died.
end_namespace_program()
{
	within=([2]="ip netns exec n2")
	begin "namespace exit with its last program" atomic
	ip netns del n2
	ok "$what: the link is still there" exists s2
	slay 2
	ok "$what: the link is gone" gone s2
	over "$retry" ""
	within=()
}

### the donor of the memory ends

# end_donor WHOSE OP REGEX-1 REGEX-2
end_donor()
{
	local i=$1 bdf

	bdf=$(donor_bdf bar)
	memory=([i]="-m $bar")
	begin "unbind of the donor of the $2" "$3"
	memory=()
	ok "$what" timeout 60 sh -c "echo $bdf >/sys/bus/pci/drivers/p2pmem_bar/unbind"
	ok "$what: refused as revoked" wait_for 10 eval "[ \$(counter s$i key_revoked) -gt 0 ]"
	over "$4" "$5"
	ok "$what: it comes again" bind_to p2pmem_bar "$bdf"
	bar=$(wait_for 10 ls /dev/p2pmem*)
	bar_pool=/sys/class/p2pmem/${bar#/dev/}
	ok "$what: all of it" wait_for 10 bar_free
}
end_donor_answerer()
{
	end_donor 2 "answerer's memory" write "wc remote access error" "peer|wc .*"
}
end_donor_sender()
{
	end_donor 1 "sender's memory" read "wc local protection error" "peer"
}

### both sides end

end_module()
{
	idle=1 begin "rmmod, $1" "${@:2}"
	ok "$what" timeout 60 rmmod srnic
	over "$fatal|$retry" "$fatal|$retry"
}
end_module_write() { end_module "one side sends, from and to a BAR" write -w -m "$bar"; }
end_module_both() { end_module "both sides send" send -b; }

end_veth()
{
	ns_del
	pairs
	idle=2 begin "removal of a veth under both, IPv6" write -w
	ok "$what" timeout 60 ip -n n1 link del v1
	ok "$what: the links are gone" eval "gone s1 && gone s2"
	over "$fatal|$retry" "$fatal"
	ns_del
	sides
}

# pingpong SIDE [PEER]: datagrams, polled for without end
pingpong()
{
	exec ibv_ud_pingpong -d "s$1" -g "$(wait_for 10 gid_index "s$1" "${ip[$1]}")" -p 21000 \
		-n 1000000000 "${@:2}"
}
datagrams() { [ "$(rdma resource show qp | grep -c 'type UD.*pingpong')" = 2 ] && pkts_grow; }
pkts_grow()
{
	local before

	before=$(counter s2 rcvd_pkts)
	wait_for 10 eval "[ \$(counter s2 rcvd_pkts) -gt $((before + 200)) ]"
}

# The connection manager's programs, in their namespaces, and datagrams. What becomes
# of such programs is their own affair.
end_cm()
{
	what="link del under rping and datagrams"
	both_sides
	ip netns exec n2 rping -s -a "${ip[2]}" -v -C 1000000 >/tmp/said.2 2>&1 &
	pid[2]=$!
	wait_for 20 eval "rdma resource show cm_id | grep -q 'LISTEN.*rping'"
	sleep 1	# see _perf_listens()
	ip netns exec n1 rping -c -a "${ip[2]}" -v -C 1000000 >/tmp/said.1 2>&1 &
	pid[1]=$!
	pingpong 2 >/tmp/said.3 2>&1 &
	pid[3]=$!
	wait_listen 21000
	pingpong 1 127.0.0.1 >/tmp/said.4 2>&1 &
	pid[4]=$!
	ok "$what: rping" wait_for 20 grep -q 'ping data' /tmp/said.1
	ok "$what: datagrams" wait_for 20 datagrams
	ok "$what" timeout 60 rdma link del s2
	ok "$what: the other one" timeout 60 rdma link del s1
	kill -9 "${pid[@]}" 2>/dev/null
	wait "${pid[@]}" 2>/dev/null
	pid=()
	ok "$what: nothing stays" wait_for 10 eval "! rdma resource show qp | grep -E 'rping|pingpong'"
}

### a real NIC: with itself, as there is one

# addresses NETNS-OPTION...: after the NIC has lost them
addresses()
{
	ip "$@" -batch - <<-EOT
		link set lo up
		link set eth0 mtu 4200 up
		addr replace $MY_IP/24 dev eth0
		addr replace $MY_IP6/64 dev eth0 nodad
	EOT
}

# The NIC can't end with the namespace: the kernel gives it back.
end_namespace_nic()
{
	ip netns add n3
	ip link set eth0 netns n3
	addresses -n n3
	ns_add n3 s3 eth0
	nic s3
	idle=1 begin "namespace exit with a NIC in it" write -b
	ip netns del n3
	ok "$what: the link is gone" gone s3
	ok "$what: the NIC is back" wait_for 20 test -e /sys/class/net/eth0
	over "$fatal|$retry" "$fatal|$retry"
	sides
}

# nic_bdf: the PCI function of eth0
nic_bdf() { basename "$(dirname "$(readlink -f /sys/class/net/eth0/device)")"; }

unplug()
{
	timeout "$1" sh -c "echo 1 >/sys/bus/pci/devices/$(nic_bdf)/remove" &&
		! [ -e "/sys/class/infiniband/$2" ] && ! [ -e /sys/class/net/eth0 ]
}

replug()
{
	echo 1 >/sys/bus/pci/rescan
	wait_for 20 test -e /sys/class/net/eth0 && addresses
}

end_nic_pulled()
{
	addresses
	add s3 eth0
	nic s3
	idle=1 begin "a NIC is pulled" read -b
	ok "$what" unplug 60 s3
	over "$fatal|$retry" "$fatal|$retry"
	ok "$what: it comes again" replug
	add s3 eth0
	idle=1 begin "link del of both sides at once" write -b
	ok "$what" timeout 60 rdma link del s3
	over "$fatal|$retry" "$fatal|$retry"
	sides
}

# With RDMA namespaces of its own the device itself can be taken from its users.
end_exclusive()
{
	ns_del
	ok "exclusive RDMA namespaces" wait_for 20 rdma system set netns exclusive || return
	ip netns add n3
	addresses
	add s3 eth0
	nic s3
	idle=1 begin "the device moves to another RDMA namespace" atomic -b
	ok "$what" timeout 60 rdma dev set s3 netns n3
	over "$fatal|$retry" "$fatal|$retry"
	ok "$what: it is there" ip netns exec n3 rdma link show s3/1
	ip netns del n3
	ok "$what: it comes back when that ends" wait_for 20 rdma link show s3/1
	begin "$what, and back" write -n 200
	over "done" "done"
	del s3
	ok "shared RDMA namespaces" wait_for 20 rdma system set netns shared
	sides
}

all_ends()
{
	local i

	modprobe macvlan && modprobe dummy || bail "no macvlan, no dummy"
	bar=$(donate_bar) || bail "no /dev/p2pmem0"
	bar_pool=/sys/class/p2pmem/${bar#/dev/}
	for i in ${CASES:-kill_sender kill_answerer link_sender link_answerer
			netdev_sender netdev_answerer move namespace_sender
			namespace_answerer namespace_program donor_answerer
			donor_sender module_write module_both cm veth namespace_nic nic_pulled exclusive}; do
		"end_$i"
	done
	begin "after all that" write -n 200
	over "done" "done"
	ns_del
	ip link del wire
	ok "all modules unload" eval "rmmod srnic && rmmod p2pmem_bar && rmmod p2pmem"
}
