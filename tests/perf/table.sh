# SPDX-License-Identifier: GPL-2.0
# Numbers for tables.
#
#   median <VALUES            one value a line
#   ratio OURS THEIRS high|low   how many times better ours is
# shellcheck shell=bash

median()
{
	sort -g | awk '{ v[NR] = $1 } END {
		m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
		printf m < 100 ? "%.1f\n" : "%.0f\n", m }'
}

ratio()
{
	[ "$3" = high ] || set -- "$2" "$1"
	awk "BEGIN { printf \"%.2f times\", $1 / $2 }"
}
