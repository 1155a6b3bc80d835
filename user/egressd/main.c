// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bulkhead-egressd: started by the agent, which says what compartments may reach; ends with it. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/version.h"
#include "egressd.h"
#include "report.h"
#include "sandbox.h"
#include "verbs.h"

/* Nothing waits at the end: what takes longer hangs. */
#define END_S 5

static void received(void *data, struct message *message)
{
	verbs_handle(data, message);
}

static void ended(void *data)
{
	struct egressd *e = data;

	sd_event_exit(e->event, 0);
}

static void room(void *data)
{
	report_room(data);
}

static int on_terminate(sd_event_source *source, const struct signalfd_siginfo *si _unused_,
			void *data _unused_)
{
	return sd_event_exit(sd_event_source_get_event(source), 0);
}

static void egressd_free(struct egressd *e)
{
	if (!e)
		return;
	while (e->compartments)
		compartment_free(e->compartments);
	reacher_free(e->reacher);
	sd_event_source_disable_unref(e->folded);
	messages_free(e->messages);
	sd_event_unref(e->event);
	cleanup_closep(&e->flows);
	free(e);
}
DEFINE_CLEANUP(struct egressd *, egressd_free)

/* Of few descriptors half is for connections, and of few connections half is shared. */
static void set_bounds(struct egressd *e)
{
	const size_t own = EGRESSD_OWN_CLIENTS * BH_MAX_COMPARTMENTS;
	struct rlimit files = {0};
	size_t n;

	getrlimit(RLIMIT_NOFILE, &files);
	n = files.rlim_cur > 2 * EGRESSD_OTHER_FILES ? files.rlim_cur - EGRESSD_OTHER_FILES
						     : files.rlim_cur / 2;
	n /= EGRESSD_CLIENT_FILES;
	e->max_clients = n < EGRESSD_ALL_CLIENTS ? n : EGRESSD_ALL_CLIENTS;
	e->max_shared = e->max_clients > 2 * own ? e->max_clients - own : e->max_clients / 2;
}

static int open_loop(struct egressd *e)
{
	const struct messages_handler handler = {received, room, ended, e};
	sigset_t handled;
	int r = sd_event_new(&e->event);

	sigemptyset(&handled);
	sigaddset(&handled, SIGTERM);
	if (r < 0 || sigprocmask(SIG_BLOCK, &handled, NULL))
		return r < 0 ? r : -errno;
	r = sd_event_add_signal(e->event, NULL, SIGTERM, on_terminate, e);
	return r < 0 ? r : messages_new(e->event, CHANNEL_FD, &handler, &e->messages);
}

static int run(struct error *error)
{
	_cleanup_(cleanup_egressd_free) struct egressd *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return error_set(error, ENOMEM, "out of memory");
	e->flows = -1;
	set_bounds(e);
	r = open_loop(e);
	if (r)
		return error_set(error, -r, "event loop: %s", strerror(-r));
	r = sandbox_filter(error);
	if (r)
		return r;
	r = sd_event_loop(e->event);
	alarm(END_S);
	return r < 0 ? error_set(error, -r, "event loop: %s", strerror(-r)) : 0;
}

static bool has_option(int option, int wanted)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return !getsockopt(CHANNEL_FD, SOL_SOCKET, option, &value, &size) && value == wanted;
}

static int start(const char *user, struct error *error)
{
	int r;

	if (!has_option(SO_DOMAIN, AF_UNIX) || !has_option(SO_TYPE, SOCK_SEQPACKET))
		return error_set(error, EINVAL,
				 "descriptor %d is no socket of the agent's: bulkheadd starts it",
				 CHANNEL_FD);
	/* Whatever else it inherited is nobody's. */
	if (close_range(CHANNEL_FD + 1, ~0u, 0))
		return error_set(error, errno, "close_range: %s", strerror(errno));
	r = sandbox_lower(user, error);
	return r ? r : run(error);
}

#define USAGE "bulkhead-egressd [--user NAME] [--help|--version]"

static const struct option options[] = {
	{"user", required_argument, NULL, 'u'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'v'},
	{},
};

int main(int argc, char **argv)
{
	const char *user = NULL;
	struct error error = {0};
	int option;

	log_open("bulkhead-egressd");
	signal(SIGPIPE, SIG_IGN);
	while ((option = getopt_long(argc, argv, "u:h", options, NULL)) >= 0) {
		switch (option) {
		case 'u':
			user = optarg;
			break;
		case 'h':
			puts("usage: " USAGE "\n\nAnswers names and dials for the compartments of "
			     "bulkheadd(8), which starts it.");
			return 0;
		case 'v':
			puts("bulkhead-egressd " BULKHEAD_VERSION);
			return 0;
		default:
			return 2;
		}
	}
	if (optind < argc) {
		log_error("usage: " USAGE);
		return 2;
	}
	if (start(user, &error) < 0) {
		log_error("%s", error.text);
		return 1;
	}
	return 0;
}
