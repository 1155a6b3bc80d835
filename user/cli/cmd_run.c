// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bulkhead run: a command in a compartment of its own, without the agent, but where its policy lists destinations:
 * those the agent's relay serves.
 *
 * The child is forked before anything is loaded, so that it holds nothing of ours but descriptors 0
 * to 2, and waits at a pipe. The empty cgroup is attached, the child moved in and found labelled;
 * from then on it is judged, and all it does is exec. When we are killed it goes on confined: its
 * compartment is swept by the next command, and its watchdog ends it at its deadline.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include "cli.h"
#include "compart/compart.h"
#include "compart/policies.h"
#include "base/clock.h"
#include "launch/environment.h"
#include "launch/life.h"
#include "launch/limits.h"
#include "launch/private.h"
#include "launch/report.h"
#include "launch/timer.h"

#define RUN_FAILED 125 /* as env(1) and timeout(1) do */
#define RUN_NOT_EXECUTABLE 126
#define RUN_NOT_FOUND 127
#define RUN_KILL_MS 30000 /* 5,000 sleepers take seven seconds and more on a slow machine */
/* Where watchdogs stand: who ends the unit or the session of this command does not end them. */
#define WATCHDOGS "watchdogs"
#define RUN_OWN_VARS 2 /* HOME and TMPDIR */

struct run {
	const struct arguments *arguments;
	struct kern *kern;
	struct compartment *compartment;
	struct policy *policy; /* as it is in force: with the run's own directories */
	const char **vars;     /* NULL-terminated */
	char **own;	       /* those of them that are this run's own */
	char *name, *cgroup;
	struct life life;
	struct watchdog watchdog;
	pid_t timer; /* who has the service manager keep the deadline, too; 0: nobody */
	sighandler_t pipe_action; /* what SIGPIPE meant to who started us */
	__u64 limits[LIMITS];
	struct environment environment;
	time_t started;
	FILE *report; /* NULL: none is wanted */
	int go;	      /* a byte lets the child go on, end of file ends it */
	int failure;  /* errno of its exec; end of file when that went well */
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

static void child_main(const struct run *run, int go, int failure, const sigset_t *mask)
	__attribute__((noreturn));
static void child_main(const struct run *run, int go, int failure, const sigset_t *mask)
{
	char **command = run->arguments->command, byte;
	int error;

	close_but(go, failure);
	signal(SIGPIPE, run->pipe_action);
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (read(go, &byte, 1) != 1 || limits_set_process(run->limits) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		_exit(RUN_FAILED);
	/* Its own PATH is searched. */
	environ = run->environment.strings;
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

/* What was ignored stays so (nohup): once it is blocked it would come by the signalfd. */
static int block_signals(struct run *run, sigset_t *ret_old)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action;
	sigset_t handled;

	sigemptyset(&handled);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (sigaction(signals[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(&handled, signals[i]);
	run->life.signals = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
	if (run->life.signals < 0 || sigprocmask(SIG_BLOCK, &handled, ret_old))
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
		run->life.child = fork();
	if (r == 0 && run->life.child == 0)
		child_main(run, go[0], failure[1], &mask);
	if (r == 0 && run->life.child < 0)
		r = fail(run, errno, "fork");
	cleanup_closep(&go[0]);
	cleanup_closep(&failure[1]);
	run->go = go[1];
	run->failure = failure[0];
	if (r == 0) {
		run->life.pidfd = pidfd_open(run->life.child, 0);
		if (run->life.pidfd < 0)
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

	if (!run->policy->negress)
		return 0;
	r = agent_call(json_pack("{s:s, s:s}", "request", "outlets", "cgroup", run->cgroup), &reply,
		       run->error);
	if (r)
		error_prefix(run->error, "its way out");
	return r;
}

/* A caller may have less time than the policy gives, never more. */
static int take_deadline(struct run *run)
{
	const char *text = run->arguments->deadline, *why;
	char most[LIMIT_TEXT_SIZE];
	__u64 asked;

	if (!text)
		return 0;
	if (limit_parse(LIMIT_WALL, text, &asked, &why) < 0)
		return error_set(run->error, EINVAL, "--deadline %s: %s", text, why);
	if (asked > run->limits[LIMIT_WALL])
		return error_set(
			run->error, EINVAL,
			"--deadline %s: the policy's limit, wall, is %s; a caller may ask for "
			"less alone",
			text, limit_format(LIMIT_WALL, run->limits[LIMIT_WALL], most));
	run->limits[LIMIT_WALL] = asked;
	return 0;
}

/* Before anything runs: a report that cannot be written is not found missing at the end. */
static int open_report(struct run *run)
{
	const char *path = run->arguments->report;

	if (!path)
		return 0;
	run->report = fopen(path, "we");
	return run->report ? 0 : fail(run, errno, path);
}

static int load_policy(struct run *run, const char *const *vars, struct policy **ret)
{
	const struct policy_options options = {.include_dir = policies_dir(), .vars = vars};

	return policy_load(run->arguments->words[0], &options, ret, run->error);
}

static int choose_name(struct run *run, const char *policy)
{
	unsigned int number = 0;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0)
		number = 0;
	if (asprintf(&run->name, "%s-%d-%08x", policy, getpid(), number) < 0) {
		run->name = NULL;
		return fail(run, ENOMEM, "name");
	}
	return 0;
}

/* The caller's, and where this run's own directories will be. */
static int list_vars(struct run *run)
{
	size_t n = run->arguments->nvars;

	if (private_variables(run->name, &run->policy->environment, &run->own) < 0)
		return fail(run, ENOMEM, "variables");
	run->vars = calloc(n + RUN_OWN_VARS + 1, sizeof(*run->vars));
	if (!run->vars)
		return fail(run, ENOMEM, "variables");
	for (size_t i = 0; i < n; i++)
		run->vars[i] = run->arguments->vars[i];
	for (size_t i = 0; run->own[i]; i++)
		run->vars[n + i] = run->own[i];
	return 0;
}

/* With the directories that it will really have. */
static int load_again(struct run *run)
{
	struct policy *policy = NULL;
	int r = run->own[0] ? load_policy(run, run->vars, &policy) : 0;

	if (r == 0 && policy) {
		policy_free(run->policy);
		run->policy = policy;
	}
	return r;
}

static int check_policy(struct run *run)
{
	int r = load_policy(run, run->arguments->vars, &run->policy);

	if (r == 0)
		r = choose_name(run, run->policy->name);
	if (r == 0)
		r = list_vars(run);
	if (r == 0)
		r = load_again(run);
	if (r < 0)
		return r;
	memcpy(run->limits, run->policy->limits, sizeof(run->limits));
	if (environment_build(run->policy, environ, &run->environment) < 0)
		return fail(run, ENOMEM, "environment");
	r = take_deadline(run);
	if (r == 0)
		r = open_report(run);
	return r == 0 && run->policy->negress ? check_agent(run) : r;
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
	if (fd < 0 || dprintf(fd, "%d", run->life.child) < 0)
		return fail(run, errno, procs);
	return 0;
}

static int attach(struct run *run)
{
	_cleanup_free_ char *policy = realpath(run->arguments->words[0], NULL);
	struct attach_request request = {
		.policy = policy,
		.vars = run->vars,
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
		if (tasks[i].tid == (__u32)run->life.child &&
		    tasks[i].compartment == run->compartment->id &&
		    !(tasks[i].flags & (BH_LABEL_ASK | BH_LABEL_PENDING)))
			return 0;
	return error_set(run->error, EPROTO, "the command's process was not labelled");
}

static int start_watchdog(struct run *run)
{
	_cleanup_free_ char *home = NULL;
	int r = cgroup_own_get(WATCHDOGS, &home, run->error);

	return r < 0 ? r : watchdog_start(&run->life, home, &run->watchdog, run->error);
}

/* Once it runs: a call over the bus takes longer than all that is before. Who is killed in between leaves a watchdog. */
static void start_timer(struct run *run)
{
	run->timer = timer_start(run->name, run->cgroup, run->life.wall_ms);
	if (run->timer < 0)
		log_warning("run: %s: its deadline is kept by us and a watchdog alone: %s",
			    run->name, strerror(-run->timer));
}

/* The command goes on; its time begins. */
static int let_go(struct run *run)
{
	int r;

	run->life.cgroup = run->cgroup;
	run->life.wall_ms = run->limits[LIMIT_WALL];
	run->started = time(NULL);
	life_begin(&run->life);
	r = start_watchdog(run);
	if (r == 0 && write(run->go, "", 1) != 1)
		r = fail(run, errno, "the command's process is gone");
	if (r == 0)
		start_timer(run);
	return r;
}

/* The cgroup first: by it what stands beside is told from what is left over. */
static int make_places(struct run *run)
{
	char root[PATH_MAX];
	int r = cgroup_own_create(run->name, &run->cgroup, run->error);

	if (r < 0)
		return r;
	snprintf(root, sizeof(root), "%s", run->cgroup);
	private_sweep(dirname(root));
	return private_make(run->name, &run->policy->environment, run->error);
}

static int enter(struct run *run)
{
	struct error swept = {0};
	int r = check_policy(run);

	if (r == 0)
		r = start_child(run);
	if (r == 0)
		r = kern_open(&run->kern, run->error);
	if (r < 0)
		return r;
	if (compartments_sweep(run->kern, &swept) < 0)
		log_warning("run: earlier compartments are not swept: %s", swept.text);
	r = make_places(run);
	if (r == 0)
		r = limits_set_cgroup(run->cgroup, run->limits, run->error);
	if (r == 0)
		r = attach(run);
	if (r == 0)
		r = move_child(run);
	if (r == 0)
		r = check_label(run);
	if (r == 0)
		r = wait_outlets(run);
	return r == 0 ? let_go(run) : r;
}

/* --- the end --- */

/* Why it was never a command. */
static void tell_failure(struct run *run)
{
	int error;

	if (read(run->failure, &error, sizeof(error)) == sizeof(error))
		log_error("run: %s: %s", run->arguments->command[0], strerror(error));
}

static void tell_refusals(struct run *run, const struct bh_tally *told)
{
	const struct policy *policy = run->compartment->loaded;
	bool audited = policy && policy->mode == BH_MODE_AUDIT;
	const struct bh_tally tally = *told;

	if (!tally.refused)
		return;
	log_info("run: %s: %llu refusal%s%s, %llu of them quiet, %llu undecided, %llu the same "
		 "again, %llu lost (one by one in bulkhead events, if bulkheadd runs)",
		 run->compartment->name, (unsigned long long)tally.refused, plural(tally.refused),
		 audited ? " under enforce, none in mode: audit" : "",
		 (unsigned long long)tally.quiet, (unsigned long long)tally.unsure,
		 (unsigned long long)tally.folded, (unsigned long long)tally.lost);
	if (tally.tripped)
		log_error("run: %s: a tripwire was touched, and all of it killed",
			  run->compartment->name);
}

static int write_report(struct run *run, const struct run_report *report)
{
	_cleanup_json_ json_t *json = run_report_json(report);

	if (!json || json_dumpf(json, run->report, JSON_COMPACT) || fputc('\n', run->report) < 0 ||
	    fflush(run->report))
		return -EIO;
	return 0;
}

/* What it was, while its cgroup and its compartment are there to be asked. */
static int tell_end(struct run *run)
{
	struct run_report report = {.name = run->compartment->name,
				    .policy = run->compartment->loaded,
				    .life = &run->life,
				    .limits = run->limits,
				    .started = run->started};
	char text[RUN_REPORT_TEXT_SIZE];

	usage_read(run->cgroup, &report.usage);
	report.no_tally = kern_tally(run->kern, run->compartment->id, &report.tally) < 0;
	if (report.no_tally)
		log_error("run: %s: what it was refused cannot be had", run->compartment->name);
	tell_failure(run);
	tell_refusals(run, &report.tally);
	if (run_report_text(&report, text))
		log_info("run: %s: %s", run->compartment->name, text);
	if (run->report && write_report(run, &report) < 0)
		log_error("run: %s: the report could not be written", run->arguments->report);
	return run_report_status(&report);
}

static void report_left(const char *what, const struct error *error)
{
	log_warning("run: %s is left for the next sweep: %s", what, error->text);
}

static void end_child(struct run *run)
{
	if (run->life.child <= 0)
		return;
	kill(run->life.child, SIGKILL);
	waitpid(run->life.child, NULL, 0);
}

/* What the command left running ends with it. */
static void leave(struct run *run, int *status)
{
	struct error error = {0};

	end_child(run);
	if (run->cgroup && cgroup_kill(run->cgroup, RUN_KILL_MS, &error) < 0)
		report_left(run->cgroup, &error);
	if (run->life.ended_us)
		*status = tell_end(run);
	if (run->compartment && compartment_detach(run->kern, run->compartment, &error) < 0)
		report_left(run->compartment->name, &error);
	watchdog_end(&run->watchdog);
	timer_stop(run->timer, run->name);
	if (run->cgroup && private_remove(run->name, &error) < 0)
		report_left(run->name, &error);
	if (run->cgroup)
		cgroup_remove(run->cgroup);
	compartment_free(run->compartment);
	if (run->kern) {
		compartments_sweep(run->kern, NULL);
		kern_close(run->kern);
	}
	policy_free(run->policy);
	free(run->vars);
	free(run->own);
	free(run->name);
	free(run->cgroup);
	if (run->report)
		fclose(run->report);
	environment_done(&run->environment);
	cleanup_closep(&run->go);
	cleanup_closep(&run->failure);
	cleanup_closep(&run->life.pidfd);
	cleanup_closep(&run->life.signals);
}

int cmd_run(const struct arguments *arguments, struct error *error)
{
	struct run run = {
		.arguments = arguments,
		.life = {.pidfd = -1, .signals = -1},
		.watchdog = {.lease = -1},
		.go = -1,
		.failure = -1,
		.error = error,
	};
	int status = RUN_FAILED;

	/* Who reads what we say may go; what we began is ended all the same. */
	run.pipe_action = signal(SIGPIPE, SIG_IGN);
	if (enter(&run) == 0)
		life_wait(&run.life);
	else
		log_error("run: %s", error->text);
	leave(&run, &status);
	return status;
}
