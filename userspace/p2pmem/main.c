// SPDX-License-Identifier: GPL-2.0
/*
 * p2pmem: the command line.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "p2pmem.h"

struct options opt;

static const struct command {
	const char *name;
	int least, most;	/* arguments */
	bool rest;		/* takes a command behind "--" */
	const char *options;	/* letters, besides j */
	int (*run)(int argc, char **argv, char **rest);
	const char *usage;
} commands[] = {
	{ "list", 0, 0, false, "", cmd_list, "list" },
	{ "info", 1, 1, false, "", cmd_info, "info DEVICE" },
	{ "tree", 0, 0, false, "", cmd_tree, "tree" },
	{ "alloc", 2, 2, true, "ody", cmd_alloc,
	  "alloc DEVICE SIZE [--name NAME] [--offset OFFSET] [--dmabuf] [-- COMMAND...]" },
	{ "read", 3, 3, false, "", cmd_read, "read DEVICE|- OFFSET LENGTH >FILE" },
	{ "write", 2, 2, false, "", cmd_write, "write DEVICE|- OFFSET <FILE" },
	{ "flush", 1, 3, false, "", cmd_flush, "flush DEVICE|- [OFFSET [LENGTH]]" },
	{ "watch", 0, 1, false, "ni", cmd_watch, "watch [DEVICE] [-n COUNT] [-i SECONDS]" },
};

#define COMMANDS	(sizeof(commands) / sizeof(*commands))

static const struct option long_options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "name", required_argument, NULL, 'y' },
	{ "offset", required_argument, NULL, 'o' },
	{ "dmabuf", no_argument, NULL, 'd' },
	{ "count", required_argument, NULL, 'n' },
	{ "interval", required_argument, NULL, 'i' },
	{ "help", no_argument, NULL, 'h' },
	{}
};

static void usage(FILE *to)
{
	size_t i;

	for (i = 0; i < COMMANDS; i++)
		fprintf(to, "%s p2pmem [--json] %s\n", i ? "      " : "usage:", commands[i].usage);
}

static int misused(const struct command *c)
{
	fprintf(stderr, "usage: p2pmem [--json] %s\n", c->usage);
	return 2;
}

static const struct command *find(const char *name)
{
	size_t i;

	for (i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return commands + i;
	return NULL;
}

/* What is behind "--" is another program's: getopt doesn't see it. */
static char **cut(int *argc, char **argv)
{
	int i;

	for (i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--"))
			continue;
		*argc = i;
		argv[i] = NULL;
		return argv + i + 1;
	}
	return argv + *argc;
}

/* The letters that were used; 0 in front: one that there isn't. */
static void parse(int argc, char **argv, char *used)
{
	int c;

	while ((c = getopt_long(argc, argv, "n:i:h", long_options, NULL)) != -1) {
		switch (c) {
		case 'j':
			opt.json = true;
			continue;
		case 'y':
			opt.name = optarg;
			break;
		case 'o':
			opt.offset = optarg;
			break;
		case 'd':
			opt.dmabuf = true;
			break;
		case 'n':
			opt.count = optarg;
			break;
		case 'i':
			opt.interval = optarg;
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			/* getopt has said which */
			exit(2);
		}
		if (!strchr(used, c))
			used[strlen(used)] = c;
	}
}

int main(int argc, char **argv)
{
	const struct command *c;
	char used[16] = "";
	char **rest;
	int status;

	rest = cut(&argc, argv);
	parse(argc, argv, used);
	argc -= optind;
	argv += optind;
	if (!argc) {
		usage(stderr);
		return 2;
	}
	c = find(argv[0]);
	if (!c) {
		fprintf(stderr, "p2pmem: there is no command '%s' (p2pmem --help)\n", argv[0]);
		return 2;
	}
	argc--;
	argv++;
	if (argc < c->least || argc > c->most || (*rest && !c->rest) ||
	    strspn(used, c->options) != strlen(used))
		return misused(c);
	status = c->run(argc, argv, rest);
	if (fflush(stdout) || ferror(stdout))
		die("standard output can't be written");
	return status;
}
