# SPDX-License-Identifier: GPL-2.0
# Sourced by the scripts: where things are, progress, and the cache.
#
# Everything that takes long to make lives in $srnic_cache/NAME-KEY, where KEY
# is a hash of what it was made from. It is made in NAME-KEY.tmp under a lock
# and renamed when it is whole, so an interrupted run leaves nothing that a
# later run would take for finished.
# shellcheck shell=bash

srnic_top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
srnic_cache=${XDG_CACHE_HOME:-$HOME/.cache}/srnic
# One clone of the repository, one set of build directories.
# shellcheck disable=SC2034 # for those who source this
srnic_tree=$srnic_cache/trees/$(printf '%s' "$srnic_top" | sha256sum | cut -c1-12)
# tools that only root's PATH has: mke2fs, depmod, modprobe
PATH=$PATH:/usr/sbin:/sbin
export LC_ALL=C

die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

note()
{
	printf '  %s\n' "$*" >&2
}

# hash_of WORD|FILE...: 12 hex digits over file contents and plain words
hash_of()
{
	local i

	for i in "$@"; do
		if [ -f "$i" ]; then
			cat "$i"
		else
			printf '%s\n' "$i"
		fi
	done | sha256sum | cut -c1-12
}

# step TEXT CMD...: run CMD with its output kept back, say how long it took.
# Where it fails the end of its output is shown.
step()
{
	local text=$1 log status=0 start=$SECONDS

	shift
	mkdir -p "$srnic_cache/log"
	log=$(mktemp "$srnic_cache/log/step.XXXXXX")
	printf '  %s ...\n' "$text" >&2
	"$@" >"$log" 2>&1 </dev/null || status=$?
	if [ "$status" -ne 0 ]; then
		tail -n 40 "$log" >&2
		printf '  %s: failed (status %d) after %d s; all of it: %s\n' \
			"$text" "$status" $((SECONDS - start)) "$log" >&2
		return "$status"
	fi
	printf '  %s: %d s\n' "$text" $((SECONDS - start)) >&2
	rm -f "$log"
}

# cached NAME KEY MAKER [ARG...]: print the path of NAME-KEY, made by
# "MAKER TMPDIR ARG..." if it isn't there yet. MAKER finds an interrupted
# run's TMPDIR as that run left it.
cached()
{
	local name=$1 key=$2 maker=$3
	local path=$srnic_cache/$name-$key

	shift 3
	if [ ! -d "$path" ]; then
		mkdir -p "$srnic_cache/locks"
		(
			flock 9
			[ -d "$path" ] && exit 0
			mkdir -p "$path.tmp"
			# set -e is off in a condition, and the callers' style
			# is "cached ... || die": turn it on in a child
			set -e
			"$maker" "$path.tmp" "$@" >&2
			mv "$path.tmp" "$path"
			prune_cache "$name" "$path"
		) 9>"$srnic_cache/locks/$name-$key" || return 1
		[ -d "$path" ] || return 1
	fi
	touch "$path"
	printf '%s\n' "$path"
}

# Entries of the same name that nobody asked for in two weeks go.
prune_cache()
{
	find "$srnic_cache" -maxdepth 1 -name "$1-*" -mtime +14 \
		! -path "$2" -exec rm -rf {} +
}

# apt_says CMD...: its output, remembered as long as apt's lists don't change
apt_says()
{
	local file

	file=$srnic_cache/apt/$(hash_of "$*" \
		"$(stat -c %Y /var/lib/apt/lists /etc/apt/* 2>/dev/null)")
	if [ ! -s "$file" ]; then
		mkdir -p "$srnic_cache/apt"
		"$@" >"$file.$$" 2>/dev/null || :
		mv "$file.$$" "$file"
	fi
	cat "$file"
}

# deb_version PACKAGE: the version apt would install
deb_version()
{
	apt_says apt-cache policy "$1" | awk '$1 == "Candidate:" && $2 != "(none)" { print $2 }'
}

# get_debs DIR PACKAGE...: download packages without installing them
get_debs()
{
	local dir=$1

	shift
	mkdir -p "$dir"
	# apt drops to a user of its own, which may not write here: no harm
	(cd "$dir" && apt-get -qq -o APT::Sandbox::User=root download "$@") && return 0
	[ "$(id -u)" = 0 ] && apt-get -qq update &&
		(cd "$dir" && apt-get -qq -o APT::Sandbox::User=root download "$@")
}
