#!/bin/bash
# vm: --hosts 1 --donors bar:16M --timeout 400
# SPDX-License-Identifier: GPL-2.0
# The ledger: debugfs and tracepoints tell of each key's birth and death and of
# each refusal, and agree with the counters, with rdma resource, and with each
# other.
# shellcheck source=tests/vm/lib/lib.sh
. /srnic/tests/vm/lib/lib.sh
rdma_up srnic || bail "no srnic link"
index=$(gid_index srnic0 "$MY_IP") || bail "no GID for $MY_IP"
device=$(donate_bar) || bail "no /dev/p2pmem0"
debug=/sys/kernel/debug/srnic/srnic0
trace=/sys/kernel/tracing
[ -e $trace/trace ] || mount -t tracefs tracefs $trace
[ -e $debug/mpt ] || mount -t debugfs debugfs /sys/kernel/debug
counters=/sys/class/infiniband/srnic0/ports/1/hw_counters

sum() { awk '{ n += $1 } END { print n + 0 }'; }
# traced EVENT [PATTERN]: how many
traced() { grep -cE "$1: srnic0 .*${2:-}" $trace/trace; }

ok "debugfs is root's" eval '[ "$(stat -c %a $debug/mpt $debug/refusals)" = "400
400" ]'
is "nothing was refused yet" "$(cat $debug/refusals)" ""
cut -d' ' -f1 $debug/mpt >/tmp/own
own=$(wc -l </tmp/own)
echo 20000 >$trace/buffer_size_kb
echo >$trace/trace
echo 1 >$trace/events/srnic/enable

# packets and work requests with keys of every wrong kind
adopt timeout 200 exact_check srnic0 "$index" "$device" \
	"echo $(donor_bdf bar) >/sys/bus/pci/drivers/p2pmem_bar/unbind"
echo 0 >$trace/events/srnic/enable
total=$(cat $counters/key_* | sum)
num "the ledger was full" "$total" -gt 256
is "each refusal was traced" "$(traced key_refused)" "$total"
for i in unknown stale pd access bounds state revoked qp; do
	num "keys were refused: $i" "$(cat $counters/key_$i)" -gt 0
	is "as often as counted: $i" "$(traced key_refused "reason=$i ")" \
		"$(cat $counters/key_$i)"
done
is "the ledger has the last ones" "$(wc -l <$debug/refusals)" 256

# the same words in the ledger and in the trace, in the same order
line='s/.* reason=\([a-z]*\) key=\(0x[0-9a-f]*\) addr=\(0x[0-9a-f]*\) len=\([0-9]*\) qpn=\(0x[0-9a-f]*\) peer=\([0-9a-f:.]*\) psn=\(0x[0-9a-f]*\) opcode=\(0x[0-9a-f]*\)/\1 \2 \3 \4 \5 \6 \7 \8/p'
sed -n "$line" $trace/trace | tail -n 256 >/tmp/traced
awk '{ print $2, $4, $14, $16, $6, $8, $10, $12 }' $debug/refusals >/tmp/ledger
ok "trace and ledger say the same" diff /tmp/traced /tmp/ledger
ok "a line is as the manual says" eval '! grep -vE \
	"^[0-9]+\.[0-9]{6} [a-z]+ [lr]key 0x[0-9a-f]{8} qpn 0x[0-9a-f]{6} peer [0-9a-f:.]+ psn 0x[0-9a-f]{6} opcode 0x[0-9a-f]{2} addr 0x[0-9a-f]+ len [0-9]+$" \
	$debug/refusals'
now=$(date +%s)
ok "the time is right" awk -v now="$now" '$1 > now || $1 < now - 400 { exit 1 }' $debug/refusals
ok "the peer is ourselves" eval "! grep -vF 'peer ::ffff:$MY_IP ' $debug/refusals"

num "keys were born" "$(traced key_born)" -gt 50
# a region that is registered anew is born once more
num "no more than that have died" "$(traced key_dead)" -le "$(traced key_born)"
names() { sed -n "s/.*$1: srnic0 key=\(0x[0-9a-f]*\).*/\1/p" $trace/trace | sort -u; }
ok "the same ones" diff <(names key_born) <(names key_dead)
is "the table is as before" "$(wc -l <$debug/mpt)" "$own"

# a region as the table and rdma have it
traffic srnic0 "$MY_IP" /tmp/meet idle >/tmp/idle 2>&1 &
idle=$!
wait_for 20 grep -q ready /tmp/idle || diag "$(cat /tmp/idle)"
is "a program's region and its windows are in the table" "$(wc -l <$debug/mpt)" $((own + 3))
for i in mw1 mw2; do
	like "a window of type ${i#mw}" "$(grep " $i " $debug/mpt)" \
		"^0x[0-9a-f]{8} $i pd [0-9]+ access 0x2 iova 0x[0-9a-f]+ length 16384 runs [0-9]+ state valid "
done
mine=$(grep -vFf /tmp/own $debug/mpt | grep ' mr ')
shown=$(rdma -dd resource show mr | grep -A1 "comm traffic")
like "as the manual says" "$mine" \
	'^0x[0-9a-f]{8} mr pd [0-9]+ access 0x[0-9a-f]+ iova 0x[0-9a-f]+ length [0-9]+ runs [0-9]+ state valid generation [0-9]+ age [0-9]+ in-flight 0$'
is "rdma knows its length" "$(grep -o 'mrlen [0-9]*' <<<"$shown" | cut -d' ' -f2)" \
	"$(sed 's/.* length \([0-9]*\) .*/\1/' <<<"$mine")"
is "and its runs" "$(grep -o 'drv_runs [0-9]*' <<<"$shown" | head -n 1)" \
	"drv_$(grep -o 'runs [0-9]*' <<<"$mine")"
is "and its key's generation" "$(grep -o 'drv_generation [0-9]*' <<<"$shown" | head -n 1)" \
	"drv_$(grep -o 'generation [0-9]*' <<<"$mine")"
is "and that it isn't revoked" "$(grep -o 'drv_revoked [0-9]*' <<<"$shown" | head -n 1)" \
	"drv_revoked 0"
kill -9 $idle
wait $idle 2>/dev/null
ok "it goes with its program" wait_for 10 eval "[ \$(wc -l <$debug/mpt) = $own ]"

# one whose donor goes
device=$(donate_bar) || bail "no donor a second time"
traffic -m "$device" srnic0 "$MY_IP" /tmp/meet idle >/tmp/idle 2>&1 &
idle=$!
wait_for 20 grep -q ready /tmp/idle || diag "$(cat /tmp/idle)"
like "a donor's memory" "$(rdma -dd resource show mr | grep -A1 "comm traffic")" \
	'drv_memory peer .*drv_revoked 0'
donor_bdf bar >/sys/bus/pci/drivers/p2pmem_bar/unbind
shown=$(rdma -dd resource show mr | grep -A1 "comm traffic")
like "has gone: rdma says so" "$shown" 'drv_memory peer .*drv_revoked 1'
mine=$(grep -vFf /tmp/own $debug/mpt | grep ' mr ')
like "and the table" "$mine" ' state revoked generation [0-9]+ age [0-9]+ in-flight 0$'
kill -9 $idle
wait $idle 2>/dev/null
ok "it goes with its program, too" wait_for 10 eval "[ \$(wc -l <$debug/mpt) = $own ]"

# readers and the end of the device
(while cat $debug/mpt $debug/refusals >/dev/null 2>&1; do :; done) &
reader=$!
ok "the link goes while somebody reads" rdma link del srnic0
wait $reader
ok "and its directory" [ ! -e $debug ]
ok "it comes again" rdma link add srnic0 type srnic netdev eth0
ok "with an empty ledger" eval '[ ! -s $debug/refusals ]'
rdma link del srnic0
ok "the module goes, and its directory" eval 'rmmod srnic && [ ! -e /sys/kernel/debug/srnic ]'
done_testing
