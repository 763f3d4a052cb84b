/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the administrator has said to donate: p2pmem_bar's parameter 'bars'.
 */
#ifndef _P2PMEM_BAR_LIST_H
#define _P2PMEM_BAR_LIST_H

#include <linux/types.h>

#define BAR_LIST_MAX	32

/**
 * struct bar_entry - one BAR, or a part of it
 * @domain: PCI domain of the function
 * @bus: its bus
 * @devfn: its device and function, as PCI_DEVFN() packs them
 * @bar: number of the BAR
 * @persistent: the content outlives power
 * @offset: first byte within the BAR
 * @length: number of bytes, 0 for all that follows @offset
 */
struct bar_entry {
	int domain;
	u8 bus;
	u8 devfn;
	u8 bar;
	bool persistent;
	u64 offset;
	u64 length;
};

/**
 * struct bar_list - a list of them
 * @n: how many
 * @entry: no two of which have a byte in common
 */
struct bar_list {
	unsigned int n;
	struct bar_entry entry[BAR_LIST_MAX];
};

/**
 * struct bar_mistake - what is wrong with a text
 * @what: in words
 * @entry: the entry that has it, within the text
 * @len: the entry's length
 */
struct bar_mistake {
	const char *what;
	const char *entry;
	int len;
};

int p2pmem_bar_list_parse(const char *text, struct bar_list *list, struct bar_mistake *mistake);
int p2pmem_bar_list_print(const struct bar_list *list, char *buf, size_t size);

#endif /* _P2PMEM_BAR_LIST_H */
