#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --hosts 2 --donors bar --timeout 300
#
# The commands of the README's "Use on real machines", each line as it stands
# there: on both hosts, those of a donor on b, which has the device. What builds
# and installs is run by tests/readme.t.
. /srnic/tests/vm/lib/lib.sh
from_a

# what the README means
cat >/tmp/reader <<'END'
sudo() { "$@"; }
BDF=$(donor_bdf bar)
END
as_reader() { "$1" ". /tmp/reader; ${2//BDF/\$BDF}"; }
on_b "cat >/tmp/reader <<'END'
$(cat /tmp/reader)
END"

# server COMMAND: on b, until a client has come
server()
{
	on_b "$1" >/tmp/server 2>&1 &
	served=$!
	ok "b: $1" on_b wait_listen 18515
}
client()
{
	ok "a: $1" on_a "${1/SERVER/$PEER_IP}"
	wait "$served" || { fail "b: it ends well"; diag "$(cat /tmp/server)"; }
	wait_for 20 eval '! on_b _listens 18515'
}

donor=''
while IFS= read -r line; do
	# the other way that the line tells of comes first
	if [[ $line = *"# or: "* ]]; then
		ok "${line#*# or: }" both "modprobe -r ib_uverbs; cd /lib/modules/\$(uname -r)/extra &&
			set -e; ${line#*# or: }; rmmod srnic p2pmem"
	fi
	line=${line%%  *#*}
	case $line in
	make*)
		continue ;;
	*SERVER)
		to_server=$line
		client "$line" ;;
	ib_write_bw*mmap*)
		server "$line"
		client "$to_server" ;;
	ib_write_bw*)
		server "$line" ;;
	*p2pmem*)
		donor=1
		ok "b: $line" as_reader on_b "$line" ;;
	*)
		ok "$line" as_reader both "$line" ;;
	esac
done < <(sed -n '/^## Use on real machines/,/^## [^U]/s/^    //p' /srnic/README.md)
ok "the README has a donor" test -n "$donor"
for tool in "rdma link" "rdma resource" "rdma statistic" "ibv_devinfo -d srnic0"; do
	grep -qF "\`$tool\`" /srnic/README.md || fail "the README doesn't name $tool"
	$tool >/tmp/out 2>&1
	ok "$tool shows srnic0" grep -q srnic0 /tmp/out
done
done_testing
