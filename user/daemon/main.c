// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bulkheadd: keeps the program set loaded, attaches compartments on request, tells what was
 * refused. Enforcement does not depend on it: what is pinned goes on when it is gone. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include "base/cleanup.h"
#include "base/version.h"
#include "daemon.h"
#include "egress.h"

/* Batches of events read at the end; what is left waits in the ring for the next agent. */
#define STOP_BATCHES 16

static void daemon_free(struct daemon *d)
{
	if (!d)
		return;
	server_stop(d);
	egress_stop(d);
	for (__u32 id = 1; d->loss && id < BH_MAX_COMPARTMENTS; id++)
		registry_drop(d, id);
	view_forget(&d->view);
	kern_ring_close(d->ring);
	sink_close(d->sink);
	loss_free(d->loss);
	sd_event_source_unref(d->settle_timer);
	sd_event_source_unref(d->renew_timer);
	sd_event_source_unref(d->tick_timer);
	sd_event_source_unref(d->look_timer);
	sd_event_source_unref(d->mounts);
	sd_event_unref(d->event);
	if (d->kern)
		kern_close(d->kern);
	if (d->lock >= 0)
		close(d->lock);
	free(d);
}
DEFINE_CLEANUP(struct daemon *, daemon_free)

static int on_terminate(sd_event_source *source, const struct signalfd_siginfo *si _unused_,
			void *data _unused_)
{
	return sd_event_exit(sd_event_source_get_event(source), 0);
}

static int on_hangup(sd_event_source *source _unused_, const struct signalfd_siginfo *si _unused_,
		     void *data _unused_)
{
	log_info("policies are reloaded by: bulkhead reload");
	return 0;
}

static int open_loop(struct daemon *d)
{
	sigset_t handled;
	int r = sd_event_default(&d->event);

	sigemptyset(&handled);
	sigaddset(&handled, SIGTERM);
	sigaddset(&handled, SIGINT);
	sigaddset(&handled, SIGHUP);
	if (r < 0 || sigprocmask(SIG_BLOCK, &handled, NULL))
		return r < 0 ? r : -errno;
	if ((r = sd_event_add_signal(d->event, NULL, SIGTERM, on_terminate, d)) < 0 ||
	    (r = sd_event_add_signal(d->event, NULL, SIGINT, on_terminate, d)) < 0 ||
	    (r = sd_event_add_signal(d->event, NULL, SIGHUP, on_hangup, d)) < 0)
		return r;
	r = sd_event_set_watchdog(d->event, true);
	return r < 0 ? r : 0;
}

static int run(const char *egress_config)
{
	_cleanup_(cleanup_daemon_free) struct daemon *d = calloc(1, sizeof(*d));
	struct error error = {0};
	int r;

	if (!d)
		return -ENOMEM;
	d->lock = d->listener = -1;
	d->egress_config = egress_config;
	r = open_loop(d);
	if (r < 0)
		error_set(&error, -r, "event loop: %s", strerror(-r));
	else
		r = daemon_start(d, &error);
	if (r < 0) {
		log_error("%s", error.text);
		sd_notifyf(0, "STATUS=%s\nERRNO=%d", error.text, -r);
		return r;
	}
	r = sd_event_loop(d->event);
	sd_notify(0, "STOPPING=1\nSTATUS=what is attached stays enforced");
	for (int batches = 0; batches < STOP_BATCHES && !stream_drain(d); batches++)
		continue;
	log_info("stopped; what is attached stays enforced");
	return r;
}

#define USAGE "bulkheadd [--egress FILE] [--debug|--help|--version]"

static const struct option options[] = {
	{"debug", no_argument, NULL, 'd'},
	{"egress", required_argument, NULL, 'e'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'v'},
	{},
};

int main(int argc, char **argv)
{
	const char *egress_config = NULL;
	int option;

	log_open("bulkheadd");
	/* A peer that hangs up is no reason to die. */
	signal(SIGPIPE, SIG_IGN);
	/* Inherited as ignored, it has children leave no status to wait for. */
	signal(SIGCHLD, SIG_DFL);
	while ((option = getopt_long(argc, argv, "dh", options, NULL)) >= 0) {
		switch (option) {
		case 'd':
			log_set_level(LOG_LEVEL_DEBUG);
			break;
		case 'e':
			egress_config = optarg;
			break;
		case 'h':
			puts("usage: " USAGE "\n\nThe agent of bulkhead(8); runs in the "
			     "foreground, logs to stderr.\n\n"
			     "  --egress FILE  resolvers and the rest of egress, instead "
			     "of " EGRESS_CONFIG);
			return 0;
		case 'v':
			puts("bulkheadd " BULKHEAD_VERSION);
			return 0;
		default:
			return 2;
		}
	}
	if (optind < argc) {
		log_error("usage: " USAGE);
		return 2;
	}
	return run(egress_config) < 0 ? 1 : 0;
}
