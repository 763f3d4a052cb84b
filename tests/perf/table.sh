# SPDX-License-Identifier: GPL-2.0
# Numbers for tables.
#
#   median <VALUES            one value a line
#   ratio OURS THEIRS high|low   how many times better ours is
#   ratios FILE FILE high|low    the same line by line: the median (and the range)
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

ratios()
{
	paste "$1" "$2" | awk -v better="$3" '{ print better == "high" ? $1 / $2 : $2 / $1 }' |
		sort -g | awk '{ v[NR] = $1 } END {
			m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
			printf "%.2f times (%.2f to %.2f)", m, v[1], v[NR] }'
}
