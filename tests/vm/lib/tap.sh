# SPDX-License-Identifier: GPL-2.0
# Test results as TAP.
#
#   ok "what holds" CMD...          CMD succeeds; its output is shown if not
#   fails "what is refused" CMD...  CMD fails, and not by a signal
#   is "what" GOT WANTED            equal strings
#   like "what" GOT REGEX           GOT matches (extended regex)
#   num "what" GOT OP WANTED        -eq -ne -lt -le -gt -ge
#   pass "what"; fail "what"        decided elsewhere
#   skip "what" "why"               one test that can't run here
#   diag TEXT                       a comment
#   bail TEXT                       give up, the whole file fails
#   adopt CMD...                    what CMD prints is TAP: its results are ours
#   done_testing                    at the end: prints the plan, and exits
# shellcheck shell=bash
tap_count=0
tap_failed=0

_result()
{
	local verdict=$1 what=$2

	tap_count=$((tap_count + 1))
	[ "$verdict" = ok ] || tap_failed=$((tap_failed + 1))
	printf '%s %d - %s\n' "$verdict" "$tap_count" "${what//#/no.}"
	[ "$verdict" = ok ]
}

pass() { _result ok "$1"; }
fail() { _result "not ok" "$1"; return 1; }

diag()
{
	printf '%s\n' "$*" | sed 's/^/# /'
}

ok()
{
	local what=$1 status=0 out

	shift
	out=$("$@" 2>&1 </dev/null) || status=$?
	if [ $status -eq 0 ]; then
		pass "$what"
	else
		fail "$what" || :
		diag "status $status from: $*"
		diag "$(tail -n 40 <<<"$out")"
		return 1
	fi
}

run_ok() { ok "$@"; }

fails()
{
	local what=$1 status=0 out

	shift
	out=$("$@" 2>&1 </dev/null) || status=$?
	if [ $status -gt 0 ] && [ $status -lt 124 ]; then
		pass "$what"
	else
		fail "$what" || :
		diag "status $status, not a refusal, from: $*"
		diag "$(tail -n 40 <<<"$out")"
		return 1
	fi
}

is()
{
	[ "$2" = "$3" ] && pass "$1" && return
	fail "$1" || :
	diag "got:    $2"
	diag "wanted: $3"
	return 1
}

like()
{
	[[ $2 =~ $3 ]] && pass "$1" && return
	fail "$1" || :
	diag "got:            $2"
	diag "does not match: $3"
	return 1
}

num()
{
	test "$2" "$3" "$4" 2>/dev/null && pass "$1" && return
	fail "$1" || :
	diag "is not true: $2 $3 $4"
	return 1
}

skip()
{
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

adopt()
{
	local status=0 line before=$tap_count plan

	"$@" >/tmp/adopt 2>&1 </dev/null || status=$?
	while IFS= read -r line; do
		case $line in
		ok*"# SKIP "*)	skip "$(sed 's/^ok [0-9]* - //; s/ # SKIP .*//' <<<"$line")" "${line#*# SKIP }" ;;
		ok*)		pass "${line#*- }" ;;
		not\ ok*)	fail "${line#*- }" || : ;;
		1..*)		;;
		*)		diag "${line#\# }" ;;
		esac
	done </tmp/adopt
	plan=1..$((tap_count - before))
	[ $plan != 1..0 ] || plan="a plan"
	like "it came to its end: $*" "$(grep '^1\.\.' /tmp/adopt)/$status" "^$plan/[01]\$"
}

bail()
{
	printf 'Bail out! %s\n' "$*"
	exit 1
}

done_testing()
{
	printf '1..%d\n' "$tap_count"
	[ "$tap_failed" -eq 0 ]
	exit
}
