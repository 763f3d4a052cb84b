// SPDX-License-Identifier: GPL-2.0
/*
 * Everything that happens to donors and to their memory, in random order, from
 * many threads: donors come and go; memory is allocated, mapped, exported,
 * registered, used by keys, and given back. TAP on stdout.
 *
 *   p2pmem_churn [-s SEED] [-n ROUNDS] [-t THREADS] DEV GID-INDEX BDF...
 *
 * The BDFs are bound to p2pmem_bar; what they donate is volatile. What must hold:
 *
 *   new memory is zero, and each byte has what its holder wrote there, seen by
 *   whatever mapping or key, as long as the donor stays;
 *   what fails with ENODEV, SIGBUS or a remote access error fails only where the
 *   donor has begun to go; and where it has gone all of that fails;
 *   when all is given back, a few times in between, all is available again.
 *
 * A seed repeats what each thread draws, not how the threads meet.
 */
#define _GNU_SOURCE	/* strerrorname_np() */
#include <dirent.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <linux/p2pmem.h>

#include "verbs_check.h"

#define PAGE		4096
#define DRIVER		"/sys/bus/pci/drivers/p2pmem_bar/"
#define CLASS		"/sys/class/p2pmem"
#define MAX_DONORS	8
#define MAX_MINORS	16
#define MAX_THREADS	16
#define HELD		8	/* pieces of memory a thread has at most */
#define MAPS		2
#define MAX_PAGES	16
#define USED		64	/* bytes that go through a key */
#define OUT_OF_100	100
#define PARTS		10	/* of the rounds; donors come and go in the first half of each */

/*
 * A donor's epoch says where it is: bound, at a multiple of four, or on one of
 * the three steps to its next life. Who has seen it bound and sees the same epoch
 * again knows that it has not begun to go.
 */
enum { GOING = 1, GONE, COMING, NEXT_LIFE };

struct donor {
	const char *bdf;
	pthread_mutex_t lock;	/* for who binds and unbinds */
	atomic_uint epoch;
};

/* A life: an epoch and which donor; 0 is not known. */

struct held {
	unsigned long life;
	uint64_t tag;
	size_t size;
	int region, buf;
	uint64_t *map[MAPS];
	struct ibv_mr *mr, *buf_mr;
};

enum { WITHDRAW, DONATE, ALLOCATE, MAP, REGISTER, VERIFY, USE, FREE, LOST, FULL, FIGURES };
static const char * const names[] = {
	"withdraw", "donate", "allocate", "map", "register", "verify", "use", "free",
	"ended by a withdrawal", "no room",
};

struct worker {
	pthread_t thread;
	unsigned int number;
	uint64_t random, serial;
	struct held held[HELD];
	unsigned int nheld;
	struct end one, two;
	unsigned long count[FIGURES];
	bool did;
};

static struct donor donors[MAX_DONORS];
static unsigned int ndonors, nminors;
static atomic_ulong owner[MAX_MINORS];
static struct worker workers[MAX_THREADS];
static unsigned long rounds = 10000, nthreads = 8;
static atomic_ulong ndone;
static atomic_bool stop;
static pthread_barrier_t everybody;
static __thread sigjmp_buf out;
static __thread uint8_t *touched;
static __thread size_t touched_size;

/* What must not be: said once by each who sees it, and the end of it all. */
static void wrong(const struct worker *w, const struct held *h, const char *format, ...)
{
	char text[200];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printf("# thread %u, round %lu, memory %llx: %s\n", w->number, atomic_load(&ndone),
	       h ? (unsigned long long)h->tag : 0ULL, text);
	fflush(stdout);
	atomic_store(&stop, true);
}

static void did(struct worker *w, int what)
{
	w->count[what]++;
	w->did = true;
}

static uint64_t draw(struct worker *w, uint64_t below)
{
	/* xorshift64* */
	w->random ^= w->random >> 12;
	w->random ^= w->random << 25;
	w->random ^= w->random >> 27;
	return (w->random * 0x2545f4914f6cdd1dULL >> 16) % below;
}

/* Lives */

static unsigned int epoch_of(unsigned long life)
{
	return atomic_load(&donors[life % MAX_DONORS].epoch);
}

static unsigned int epoch_in(unsigned long life)
{
	return life / MAX_DONORS;
}

/* It has not begun to go. */
static bool stays(unsigned long life)
{
	return life && epoch_of(life) == epoch_in(life);
}

/* It has gone. */
static bool over(unsigned long life)
{
	return life && epoch_of(life) >= epoch_in(life) + GONE;
}

/*
 * Something ended as if the donor had gone, or didn't; was_over: over() before that
 * began. False where it has ended.
 */
static bool lives(struct worker *w, const struct held *h, bool ended, bool was_over,
		  const char *what)
{
	if (ended && stays(h->life))
		wrong(w, h, "%s ends, but the donor is there", what);
	if (!ended && was_over)
		wrong(w, h, "%s works, but the donor has gone", what);
	if (ended)
		did(w, LOST);
	return !ended;
}

/* Donors */

static void tell_driver(const char *file, const struct donor *d)
{
	int fd = open(file, O_WRONLY);

	if (fd < 0 || write(fd, d->bdf, strlen(d->bdf)) < 0)
		die(file);
	close(fd);
}

/* All minors of a donor, as its life is or (0) as that of nobody. */
static void own(const struct donor *d, unsigned long life)
{
	char path[300], target[300];
	struct dirent *entry;
	unsigned int minor;
	DIR *dir;
	ssize_t n;

	dir = opendir(CLASS);
	if (!dir)
		die(CLASS);
	while ((entry = readdir(dir))) {
		if (sscanf(entry->d_name, "p2pmem%u", &minor) != 1 || minor >= MAX_MINORS)
			continue;
		snprintf(path, sizeof(path), CLASS "/%s/device", entry->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		if (n < 0)
			continue;	/* another one's, which is going */
		target[n] = '\0';
		if (!strstr(target, d->bdf))
			continue;
		atomic_store(&owner[minor], life);
		/* numbers are used again: it is as large at the start as ever */
		if (!workers[0].thread && minor >= nminors)
			nminors = minor + 1;
	}
	closedir(dir);
}

static void withdraw(struct worker *w, struct donor *d)
{
	own(d, 0);
	atomic_fetch_add(&d->epoch, 1);		/* GOING */
	tell_driver(DRIVER "unbind", d);
	atomic_fetch_add(&d->epoch, 1);		/* GONE */
	did(w, WITHDRAW);
}

static void donate(struct worker *w, struct donor *d)
{
	atomic_fetch_add(&d->epoch, 1);		/* COMING */
	tell_driver(DRIVER "bind", d);
	atomic_fetch_add(&d->epoch, 1);		/* NEXT_LIFE */
	own(d, (unsigned long)atomic_load(&d->epoch) * MAX_DONORS + (d - donors));
	did(w, DONATE);
}

static void change_donor(struct worker *w, bool may_withdraw)
{
	struct donor *d = &donors[draw(w, ndonors)];

	pthread_mutex_lock(&d->lock);
	if (atomic_load(&d->epoch) % NEXT_LIFE)
		donate(w, d);
	else if (may_withdraw)
		withdraw(w, d);
	pthread_mutex_unlock(&d->lock);
}

/* Memory, by the CPU */

static void on_sigbus(int sig, siginfo_t *info, void *unused)
{
	uint8_t *at = info->si_addr;

	(void)sig;
	(void)unused;
	if (at < touched || at >= touched + touched_size)
		_exit(99);
	siglongjmp(out, 1);
}

static uint64_t word_of(const struct held *h, size_t i)
{
	return h->tag ^ i;
}

/* The first word that is not as it must be (zeroed: 0), or size; -1: SIGBUS */
static long differs(const struct held *h, const uint64_t *at, bool zeroed)
{
	size_t i, n = h->size / 8;

	touched = (uint8_t *)at;
	touched_size = h->size;
	if (sigsetjmp(out, 0))
		return -1;
	for (i = 0; i < n; i++)
		if (__atomic_load_n(at + i, __ATOMIC_RELAXED) != (zeroed ? 0 : word_of(h, i)))
			break;
	return i;
}

static bool fill(const struct held *h, uint64_t *at)
{
	size_t i, n = h->size / 8;

	touched = (uint8_t *)at;
	touched_size = h->size;
	if (sigsetjmp(out, 0))
		return false;
	for (i = 0; i < n; i++)
		__atomic_store_n(at + i, word_of(h, i), __ATOMIC_RELAXED);
	return true;
}

static bool check(struct worker *w, struct held *h, uint64_t *at, bool zeroed)
{
	bool was_over = over(h->life);
	long i = differs(h, at, zeroed);

	if (!lives(w, h, i < 0, was_over, "an access"))
		return false;
	if (i < (long)(h->size / 8))
		wrong(w, h, "%s", zeroed ? "new memory is not zero" : "somebody else's bytes");
	return true;
}

static void verify(struct worker *w, struct held *h)
{
	int i;

	did(w, VERIFY);
	for (i = 0; i < MAPS; i++)
		if (h->map[i])
			check(w, h, h->map[i], false);
}

/* What an errno means; true: nothing but what may be */
static bool allowed(struct worker *w, const struct held *h, const char *what)
{
	if (errno == ENOMEM && !h->tag) {
		did(w, FULL);
		return true;
	}
	if (errno != ENODEV)
		wrong(w, h, "%s: %s", what, strerrorname_np(errno));
	return !lives(w, h, true, false, what);
}

/* The life of what a device that was opened now is of. */
static int open_some(struct worker *w, unsigned long *life)
{
	unsigned int minor = draw(w, nminors);
	unsigned long before = atomic_load(&owner[minor]);
	char path[30];
	int fd;

	snprintf(path, sizeof(path), "/dev/p2pmem%u", minor);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 && stays(before))
		wrong(w, NULL, "open of a donor that is there: %s", strerrorname_np(errno));
	if (fd < 0 && errno != ENOENT && errno != ENODEV && errno != ENXIO)
		wrong(w, NULL, "open: %s", strerrorname_np(errno));
	*life = before == atomic_load(&owner[minor]) ? before : 0;
	return fd;
}

static uint64_t *map(int fd, size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

static int region_of(int fd, size_t size)
{
	struct p2pmem_alloc arg = { .size = size, .flags = P2PMEM_FD_CLOEXEC };

	return ioctl(fd, P2PMEM_IOC_ALLOC, &arg) ? -1 : arg.fd;
}

/* By mmap() of the device, or as a file that is then mapped. */
static void allocate(struct worker *w)
{
	struct held h = { .region = -1, .buf = -1 };
	bool was_over;
	int fd = open_some(w, &h.life);

	if (fd < 0)
		return;
	h.size = PAGE * (1 + draw(w, MAX_PAGES));
	was_over = over(h.life);
	if (draw(w, 2)) {
		h.map[0] = map(fd, h.size);
	} else {
		h.region = region_of(fd, h.size);
		if (h.region >= 0)
			h.map[0] = map(h.region, h.size);
	}
	if (!h.map[0])
		allowed(w, &h, "allocation");
	close(fd);
	if (h.map[0]) {
		lives(w, &h, false, was_over, "allocation");
		h.tag = (uint64_t)(w->number + 1) << 48 | ++w->serial << 16;
		check(w, &h, h.map[0], true);
		fill(&h, h.map[0]);
		w->held[w->nheld++] = h;
		did(w, ALLOCATE);
	} else if (h.region >= 0) {
		close(h.region);
	}
}

static bool export(struct worker *w, struct held *h)
{
	struct p2pmem_export arg = { .flags = P2PMEM_FD_CLOEXEC };

	if (h->buf >= 0)
		return true;
	if (ioctl(h->region, P2PMEM_IOC_EXPORT, &arg)) {
		allowed(w, h, "export");
		return false;
	}
	h->buf = arg.fd;
	return true;
}

/* Once more: of the region, or of a dma-buf of it. */
static void map_again(struct worker *w, struct held *h)
{
	bool was_over = over(h->life);

	if (h->map[1] || h->region < 0 || (draw(w, 2) && !export(w, h)))
		return;
	h->map[1] = map(h->buf >= 0 ? h->buf : h->region, h->size);
	if (!h->map[1]) {
		allowed(w, h, "mmap");
		return;
	}
	lives(w, h, false, was_over, "mmap");
	did(w, MAP);
}

/* Memory, by keys */

static void register_it(struct worker *w, struct held *h)
{
	bool was_over = over(h->life);

	if (h->region >= 0 && !h->buf_mr && draw(w, 2)) {
		if (!export(w, h))
			return;
		h->buf_mr = ibv_reg_dmabuf_mr(pd, 0, h->size, 0, h->buf, ACCESS);
		if (!h->buf_mr)
			goto refused;
	} else if (!h->mr) {
		h->mr = ibv_reg_mr(pd, h->map[0], h->size, ACCESS);
		if (!h->mr)
			goto refused;
	} else {
		return;
	}
	lives(w, h, false, was_over, "a registration");
	did(w, REGISTER);
	return;
refused:
	allowed(w, h, "a registration");
}

static void join_again(struct worker *w)
{
	if (to_state(&w->one, IBV_QPS_RESET) || to_state(&w->two, IBV_QPS_RESET))
		die("RESET");
	join(&w->one, &w->two);
}

static enum ibv_wc_status request(struct worker *w, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int tries = 12;

	if (post(&w->one, wr, &bad))
		die("ibv_post_send");
	while (drain(w->one.scq, &wc, 1) != 1)
		if (!--tries)
			die("no completion within a minute");
	return wc.status;
}

/* A peer writes what is there already, or reads it. */
static void use(struct worker *w, struct held *h)
{
	struct ibv_mr *key = h->buf_mr && (!h->mr || draw(w, 2)) ? h->buf_mr : h->mr;
	uint64_t *mine = (uint64_t *)(area + w->number * USED);
	size_t i, first = draw(w, h->size / USED) * (USED / 8);
	struct ibv_sge sge = at(w->number * USED, USED);
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.opcode = draw(w, 2) ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
	};
	bool was_over = over(h->life);
	enum ibv_wc_status status;

	if (!key)
		return;
	wr.wr.rdma.rkey = key->rkey;
	wr.wr.rdma.remote_addr = (key == h->mr ? (uintptr_t)h->map[0] : 0) + first * 8;
	for (i = 0; i < USED / 8; i++)
		mine[i] = wr.opcode == IBV_WR_RDMA_WRITE ? word_of(h, first + i) : 0;
	status = request(w, &wr);
	did(w, USE);
	if (status)
		join_again(w);
	if (status && status != IBV_WC_REM_ACCESS_ERR)
		wrong(w, h, "a key: %s", ibv_wc_status_str(status));
	if (!lives(w, h, status, was_over, "a key"))
		return;
	for (i = 0; i < USED / 8; i++)
		if (mine[i] != word_of(h, first + i))
			wrong(w, h, "a key reads somebody else's bytes");
}

/* The end of a part of it: mappings, keys, files */
static void end_part(struct held *h, unsigned int part)
{
	struct ibv_mr *key = part == 2 ? h->mr : part == 3 ? h->buf_mr : NULL;
	int fd = part == 4 ? h->region : part == 5 ? h->buf : -1;

	if (part < MAPS && h->map[part] && munmap(h->map[part], h->size))
		die("munmap");
	if (key && ibv_dereg_mr(key))
		die("ibv_dereg_mr");
	if (fd >= 0)
		close(fd);
}

static void give_back(struct worker *w, unsigned int which)
{
	unsigned int parts[] = { 0, 1, 2, 3, 4, 5 }, i, j, part;
	struct held h = w->held[which];

	verify(w, &h);
	for (i = ARRAY_SIZE(parts); i; i--) {
		j = draw(w, i);
		part = parts[j];
		parts[j] = parts[i - 1];
		end_part(&h, part);
	}
	w->held[which] = w->held[--w->nheld];
	did(w, FREE);
}

/* Rounds */

static void round_of(struct worker *w)
{
	unsigned int what = draw(w, OUT_OF_100);
	struct held *h = w->held;

	/* donors are away for a few rounds */
	if (what < 8)
		return change_donor(w, what < 4 && ndone * PARTS * 2 / rounds % 2 == 0);
	if (!w->nheld || (what < 40 && w->nheld < HELD))
		return allocate(w);
	h += draw(w, w->nheld);
	if (what < 52)
		map_again(w, h);
	else if (what < 66)
		register_it(w, h);
	else if (what < 74)
		use(w, h);
	else if (what < 80)
		verify(w, h);
	else
		give_back(w, h - w->held);
}

static unsigned long long number_in(const char *device, const char *name)
{
	unsigned long long n = 0;
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), CLASS "/%s/%s", device, name);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%llu", &n) != 1)
		die(path);
	fclose(f);
	return n;
}

/* Nobody has anything. */
static void check_available(struct worker *w)
{
	unsigned long long free, size;
	unsigned int i;
	char name[20];

	for (i = 0; i < ndonors; i++)
		if (atomic_load(&donors[i].epoch) % NEXT_LIFE)
			donate(w, &donors[i]);
	for (i = 0; i < nminors; i++) {
		snprintf(name, sizeof(name), "p2pmem%u", i);
		free = number_in(name, "available");
		size = number_in(name, "size");
		if (free != size)
			wrong(w, NULL, "%s: %llu of %llu bytes are available", name, free, size);
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned long part;

	for (part = 1; part <= PARTS; part++) {
		while (!atomic_load(&stop) && atomic_load(&ndone) < rounds * part / PARTS) {
			w->did = false;
			round_of(w);
			/* one in which there was nothing to do is none */
			if (w->did)
				atomic_fetch_add(&ndone, 1);
			else
				usleep(500);
		}
		while (w->nheld)
			give_back(w, 0);
		pthread_barrier_wait(&everybody);
		if (w == workers)
			check_available(w);
		pthread_barrier_wait(&everybody);
	}
	return NULL;
}

static void make_donors(char **bdfs, unsigned int n)
{
	struct donor *d;

	for (ndonors = 0; ndonors < n && ndonors < MAX_DONORS; ndonors++) {
		d = &donors[ndonors];
		d->bdf = bdfs[ndonors];
		pthread_mutex_init(&d->lock, NULL);
		/* 0 would be a life that isn't known */
		atomic_store(&d->epoch, NEXT_LIFE);
		own(d, (unsigned long)NEXT_LIFE * MAX_DONORS + ndonors);
	}
}

static void run(uint64_t seed)
{
	struct sigaction bus = {
		.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_NODEFER,
	};
	unsigned int i;

	sigaction(SIGBUS, &bus, NULL);
	pthread_barrier_init(&everybody, NULL, nthreads);
	for (i = 0; i < nthreads; i++) {
		workers[i].number = i;
		workers[i].random = (seed + 1) * 0x9e3779b97f4a7c15ULL + i + 1;
		make_pair(&workers[i].one, &workers[i].two, pd);
	}
	for (i = 0; i < nthreads; i++)
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			die("pthread_create");
	for (i = 0; i < nthreads; i++)
		pthread_join(workers[i].thread, NULL);
	for (i = 0; i < nthreads; i++) {
		drop(&workers[i].one);
		drop(&workers[i].two);
	}
}

static void report(void)
{
	unsigned long sum[FIGURES] = {};
	unsigned int i, j;

	for (i = 0; i < nthreads; i++)
		for (j = 0; j < FIGURES; j++)
			sum[j] += workers[i].count[j];
	result(!atomic_load(&stop), "%lu rounds from %lu threads: nothing is wrong", rounds,
	       nthreads);
	printf("#");
	for (j = 0; j < FIGURES; j++)
		printf(" %s %lu%s", names[j], sum[j], j < FIGURES - 1 ? "," : "\n");
	/* each thing must have happened, or nothing was tested */
	for (j = 0; j < FULL; j++)
		if (!sum[j])
			break;
	result(j == FULL, "each of it has happened");
}

int main(int argc, char **argv)
{
	uint64_t seed = time(NULL) ^ (uint64_t)getpid() << 32;
	int c;

	while ((c = getopt(argc, argv, "s:n:t:")) != -1) {
		if (c == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 'n')
			rounds = strtoul(optarg, NULL, 0);
		else if (c == 't')
			nthreads = strtoul(optarg, NULL, 0);
		else
			return 2;
	}
	if (argc - optind < 3 || !nthreads || nthreads > MAX_THREADS) {
		fprintf(stderr,
			"usage: %s [-s SEED] [-n ROUNDS] [-t THREADS] DEV GID-INDEX BDF...\n",
			argv[0]);
		return 2;
	}
	printf("# seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	gid_index = atoi(argv[optind + 1]);
	make_donors(argv + optind + 2, argc - optind - 2);
	open_device(argv[optind]);
	run(seed);
	report();
	return close_device();
}
