// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bulkhead run: a command in a compartment of its own, without the agent, but where its policy lists destinations:
 * those the agent's relay serves.
 *
 * The child is forked before anything is loaded, so that it holds nothing of ours but descriptors 0
 * to 2, and waits at a pipe. The empty cgroup is attached, the child moved in and found labelled;
 * from then on it is judged, and all it does is exec. When we are killed it goes on confined: its
 * compartment is swept by the next command.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include "cli.h"
#include "compart/compart.h"
#include "compart/policies.h"

#define RUN_FAILED 125 /* as env(1) and timeout(1) do */
#define RUN_NOT_EXECUTABLE 126
#define RUN_NOT_FOUND 127
#define RUN_KILL_MS 5000

DEFINE_CLEANUP(struct policy *, policy_free)

struct run {
	const struct arguments *arguments;
	struct kern *kern;
	struct compartment *compartment;
	char *cgroup;
	pid_t child;
	int pidfd;
	int go;	     /* a byte lets the child go on, end of file ends it */
	int failure; /* errno of its exec; end of file when that went well */
	int signals;
	bool egress; /* its policy lists destinations, which the agent serves */
	struct error *error;
};

/* --- the child --- */

static void close_but(int a, int b)
{
	unsigned int low = (unsigned int)(a < b ? a : b), high = (unsigned int)(a < b ? b : a);

	if (low > 3)
		close_range(3, low - 1, 0);
	if (high > low + 1)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, ~0u, 0);
}

static void child_main(int go, int failure, const sigset_t *mask, char **command)
	__attribute__((noreturn));
static void child_main(int go, int failure, const sigset_t *mask, char **command)
{
	char byte;
	int error;

	close_but(go, failure);
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (read(go, &byte, 1) != 1)
		_exit(RUN_FAILED);
	execvp(command[0], command);
	error = errno;
	if (write(failure, &error, sizeof(error)) != sizeof(error))
		_exit(RUN_FAILED);
	_exit(error == ENOENT ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE);
}

static int fail(struct run *run, int code, const char *what)
{
	return error_set(run->error, code, "%s: %s", what, strerror(code));
}

static int block_signals(struct run *run, sigset_t *ret_old)
{
	sigset_t handled;

	sigemptyset(&handled);
	sigaddset(&handled, SIGINT);
	sigaddset(&handled, SIGTERM);
	sigaddset(&handled, SIGHUP);
	run->signals = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
	if (run->signals < 0 || sigprocmask(SIG_BLOCK, &handled, ret_old))
		return fail(run, errno, "signals");
	return 0;
}

static int start_child(struct run *run)
{
	int go[2] = {-1, -1}, failure[2] = {-1, -1}, r = 0;
	sigset_t mask;

	r = block_signals(run, &mask);
	if (r < 0)
		return r;
	if (pipe2(go, O_CLOEXEC) || pipe2(failure, O_CLOEXEC))
		r = fail(run, errno, "pipes");
	if (r == 0)
		run->child = fork();
	if (r == 0 && run->child == 0)
		child_main(go[0], failure[1], &mask, run->arguments->command);
	if (r == 0 && run->child < 0)
		r = fail(run, errno, "fork");
	cleanup_closep(&go[0]);
	cleanup_closep(&failure[1]);
	run->go = go[1];
	run->failure = failure[0];
	if (r == 0) {
		run->pidfd = pidfd_open(run->child, 0);
		if (run->pidfd < 0)
			r = fail(run, errno, "pidfd");
	}
	return r;
}

/* --- the compartment --- */

/* Asked before anything is made: of a policy that cannot have its way out nothing is left. */
static int check_agent(struct run *run)
{
	_cleanup_json_ json_t *reply = NULL;
	const json_t *egress;
	int r = agent_call(json_pack("{s:s}", "request", "status"), &reply, run->error);

	if (r) {
		error_prefix(run->error, "%s lists destinations, which the agent serves",
			     run->arguments->words[0]);
		return r;
	}
	egress = json_object_get(json_object_get(reply, "agent"), "egress");
	if (json_is_true(json_object_get(egress, "configured")))
		return 0;
	return error_set(run->error, EOPNOTSUPP, "%s lists destinations, and %s",
			 run->arguments->words[0],
			 egress ? text_of(egress, "why") : "this agent does not serve them");
}

/* Its first connection finds its way, or is refused for want of a grant: not for want of time. */
static int wait_outlets(struct run *run)
{
	_cleanup_json_ json_t *reply = NULL;
	int r;

	if (!run->egress)
		return 0;
	r = agent_call(json_pack("{s:s, s:s}", "request", "outlets", "cgroup", run->cgroup), &reply,
		       run->error);
	if (r)
		error_prefix(run->error, "its way out");
	return r;
}

static int check_policy(struct run *run, char **ret_name)
{
	_cleanup_(cleanup_policy_free) struct policy *policy = NULL;
	const struct policy_options options = {.include_dir = policies_dir(),
					       .vars = run->arguments->vars};
	unsigned int number = 0;
	int r = policy_load(run->arguments->words[0], &options, &policy, run->error);

	if (r < 0)
		return r;
	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0)
		number = 0;
	if (asprintf(ret_name, "%s-%d-%08x", policy->name, getpid(), number) < 0)
		return fail(run, ENOMEM, "name");
	run->egress = policy->negress;
	return run->egress ? check_agent(run) : 0;
}

static int move_child(struct run *run)
{
	_cleanup_free_ char *procs = NULL;
	_cleanup_close_ int fd = -1;

	if (asprintf(&procs, "%s/cgroup.procs", run->cgroup) < 0) {
		procs = NULL;
		return fail(run, ENOMEM, run->cgroup);
	}
	fd = open(procs, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || dprintf(fd, "%d", run->child) < 0)
		return fail(run, errno, procs);
	return 0;
}

static int attach(struct run *run)
{
	_cleanup_free_ char *policy = realpath(run->arguments->words[0], NULL);
	struct attach_request request = {
		.policy = policy,
		.vars = run->arguments->vars,
		.include_dir = policies_dir(),
		.cgroup = run->cgroup,
		.caller = getpid(),
	};
	struct report report = {0};
	int r;

	if (!policy)
		return fail(run, errno, run->arguments->words[0]);
	r = compartment_attach(run->kern, &request, &run->compartment, &report, run->error);
	for (size_t i = 0; i < report.n; i++)
		log_info("run: note: %s", report.lines[i]);
	report_done(&report);
	return r;
}

/* The move labelled the child. That is read back before it may do anything; `ask`, raised by the
 * move for threads that it has not, is lowered. */
static int check_label(struct run *run)
{
	const struct bh_task_query query = {.compartment = run->compartment->id};
	_cleanup_free_ struct bh_task *tasks = NULL;
	struct error settled = {0};
	size_t n = 0;
	int r;

	if (compartments_settle(run->kern, &settled) < 0)
		log_warning("run: the cgroup goes on being asked: %s", settled.text);
	r = kern_tasks(run->kern, &query, &tasks, &n, run->error);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		if (tasks[i].tid == (__u32)run->child &&
		    tasks[i].compartment == run->compartment->id &&
		    !(tasks[i].flags & (BH_LABEL_ASK | BH_LABEL_PENDING)))
			return 0;
	return error_set(run->error, EPROTO, "the command's process was not labelled");
}

static int enter(struct run *run)
{
	_cleanup_free_ char *name = NULL;
	struct error swept = {0};
	int r = check_policy(run, &name);

	if (r == 0)
		r = start_child(run);
	if (r == 0)
		r = kern_open(&run->kern, run->error);
	if (r < 0)
		return r;
	if (compartments_sweep(run->kern, &swept) < 0)
		log_warning("run: earlier compartments are not swept: %s", swept.text);
	r = cgroup_own_create(name, &run->cgroup, run->error);
	if (r == 0)
		r = attach(run);
	if (r == 0)
		r = move_child(run);
	if (r == 0)
		r = check_label(run);
	if (r == 0)
		r = wait_outlets(run);
	if (r == 0 && write(run->go, "", 1) != 1)
		r = fail(run, errno, "the command's process is gone");
	return r;
}

/* --- the command's life --- */

static void forward_signals(struct run *run)
{
	struct signalfd_siginfo si;

	while (read(run->signals, &si, sizeof(si)) == sizeof(si)) {
		/* What the terminal sends went to the child's process group, too. */
		if (si.ssi_code <= 0)
			pidfd_send_signal(run->pidfd, (int)si.ssi_signo, NULL, 0);
	}
}

/* No deadline: the command ends when it ends, or when we are told to end it. */
static void wait_child(struct run *run)
{
	struct pollfd polled[] = {
		{.fd = run->pidfd, .events = POLLIN},
		{.fd = run->signals, .events = POLLIN},
	};

	while (!(polled[0].revents & POLLIN)) {
		if (poll(polled, 2, -1) < 0 && errno != EINTR)
			return;
		if (polled[1].revents & POLLIN)
			forward_signals(run);
	}
}

/* Exit status of the command, as a shell would say it. */
static int reap_child(struct run *run)
{
	int status = 0, error;

	if (waitpid(run->child, &status, 0) != run->child)
		return RUN_FAILED;
	run->child = 0;
	if (read(run->failure, &error, sizeof(error)) == sizeof(error))
		log_error("run: %s: %s", run->arguments->command[0], strerror(error));
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void tell_refusals(struct run *run)
{
	const struct policy *policy = run->compartment->loaded;
	bool audited = policy && policy->mode == BH_MODE_AUDIT;
	struct bh_tally tally;

	if (kern_tally(run->kern, run->compartment->id, &tally) || !tally.refused)
		return;
	log_info("run: %s: %llu refusal%s%s, %llu of them quiet, %llu undecided (one by one in "
		 "bulkhead events, if bulkheadd runs)",
		 run->compartment->name, (unsigned long long)tally.refused, plural(tally.refused),
		 audited ? " under enforce, none in mode: audit" : "",
		 (unsigned long long)tally.quiet, (unsigned long long)tally.unsure);
	if (tally.tripped)
		log_error("run: %s: a tripwire was touched, and all of it killed",
			  run->compartment->name);
}

/* --- the end --- */

static void report_left(const char *what, const struct error *error)
{
	log_warning("run: %s is left for the next sweep: %s", what, error->text);
}

static void end_child(struct run *run)
{
	if (run->child <= 0)
		return;
	kill(run->child, SIGKILL);
	waitpid(run->child, NULL, 0);
}

/* What the command left running ends with it. */
static void leave(struct run *run)
{
	struct error error = {0};

	end_child(run);
	if (run->cgroup && cgroup_kill(run->cgroup, RUN_KILL_MS, &error) < 0)
		report_left(run->cgroup, &error);
	if (run->compartment) {
		tell_refusals(run);
		if (compartment_detach(run->kern, run->compartment, &error) < 0)
			report_left(run->compartment->name, &error);
	}
	if (run->cgroup)
		cgroup_remove(run->cgroup);
	compartment_free(run->compartment);
	if (run->kern) {
		compartments_sweep(run->kern, NULL);
		kern_close(run->kern);
	}
	free(run->cgroup);
	cleanup_closep(&run->go);
	cleanup_closep(&run->failure);
	cleanup_closep(&run->pidfd);
	cleanup_closep(&run->signals);
}

int cmd_run(const struct arguments *arguments, struct error *error)
{
	struct run run = {
		.arguments = arguments,
		.pidfd = -1,
		.go = -1,
		.failure = -1,
		.signals = -1,
		.error = error,
	};
	int status = RUN_FAILED;

	if (enter(&run) == 0) {
		wait_child(&run);
		status = reap_child(&run);
	} else {
		log_error("run: %s", error->text);
	}
	leave(&run);
	return status;
}
