// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * By name: a copy under another one is not told. A program stands here when an argument, a variable of its
 * environment or a file that who runs it can write makes it run a command or a program of a language; one that
 * runs fixed programs, or loads libraries, does not: what it loads needs map-exec.
 */
#include "interpreters.h"

#include <string.h>
#include "automaton.h"
#include "glob.h"

/* A script's first line names its interpreter: interp is enough for that. */
#define RUNS (BH_PERM_EXEC | BH_PERM_INTERP)

const struct interpreter interpreters[] = {
	{"sh", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},
	{"bash", SUFFIX_VERSION, INTERPRETER_SHELL, "shell", RUNS},
	{"rbash", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},
	{"dash", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},
	{"ash", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},
	{"zsh", SUFFIX_VERSION, INTERPRETER_SHELL, "shell", RUNS},
	{"ksh", SUFFIX_VERSION, INTERPRETER_SHELL, "shell", RUNS},
	{"rksh", SUFFIX_VERSION, INTERPRETER_SHELL, "shell", RUNS},
	{"mksh", SUFFIX_VERSION, INTERPRETER_SHELL, "shell", RUNS},
	{"lksh", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},
	{"pdksh", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},
	{"oksh", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},
	{"yash", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},
	{"posh", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},
	{"fish", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},
	{"tcsh", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},
	{"bsd-csh", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},
	{"csh", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},
	{"rc", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},
	{"es", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},
	{"elvish", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},
	{"nu", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},
	{"xonsh", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},
	{"pwsh", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},
	{"busybox", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},
	{"busybox.static", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},
	{"toybox", SUFFIX_NONE, INTERPRETER_SHELL, "shell", RUNS},

	{"awk", SUFFIX_NONE, INTERPRETER_LANGUAGE, "awk", RUNS},
	{"gawk", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "awk", RUNS},
	{"mawk", SUFFIX_NONE, INTERPRETER_LANGUAGE, "awk", RUNS},
	{"nawk", SUFFIX_NONE, INTERPRETER_LANGUAGE, "awk", RUNS},
	{"original-awk", SUFFIX_NONE, INTERPRETER_LANGUAGE, "awk", RUNS},
	{"goawk", SUFFIX_NONE, INTERPRETER_LANGUAGE, "awk", RUNS},
	{"perl", SUFFIX_MACHINE, INTERPRETER_LANGUAGE, "perl", RUNS},
	{"suidperl", SUFFIX_NONE, INTERPRETER_LANGUAGE, "perl", RUNS},
	{"python", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "python", RUNS},
	{"pypy", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "python", RUNS},
	{"ipython", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "python", RUNS},
	{"micropython", SUFFIX_NONE, INTERPRETER_LANGUAGE, "python", RUNS},
	{"ruby", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "ruby", RUNS},
	{"irb", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "ruby", RUNS},
	{"jruby", SUFFIX_NONE, INTERPRETER_LANGUAGE, "ruby", RUNS},
	{"truffleruby", SUFFIX_NONE, INTERPRETER_LANGUAGE, "ruby", RUNS},
	{"node", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "javascript", RUNS},
	{"nodejs", SUFFIX_NONE, INTERPRETER_LANGUAGE, "javascript", RUNS},
	{"bun", SUFFIX_NONE, INTERPRETER_LANGUAGE, "javascript", RUNS},
	{"deno", SUFFIX_NONE, INTERPRETER_LANGUAGE, "javascript", RUNS},
	{"qjs", SUFFIX_NONE, INTERPRETER_LANGUAGE, "javascript", RUNS},
	{"d8", SUFFIX_NONE, INTERPRETER_LANGUAGE, "javascript", RUNS},
	{"gjs", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "javascript", RUNS},
	{"js", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "javascript", RUNS},
	{"lua", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "lua", RUNS},
	{"luajit", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "lua", RUNS},
	{"texlua", SUFFIX_NONE, INTERPRETER_LANGUAGE, "lua", RUNS},
	{"tclsh", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "tcl", RUNS},
	{"wish", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "tcl", RUNS},
	{"expect", SUFFIX_NONE, INTERPRETER_LANGUAGE, "tcl", RUNS},
	{"php", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "php", RUNS},
	{"php-cgi", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "php", RUNS},
	{"phpdbg", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "php", RUNS},
	{"php-fpm", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "php", RUNS},
	{"java", SUFFIX_NONE, INTERPRETER_LANGUAGE, "java", RUNS},
	{"jshell", SUFFIX_NONE, INTERPRETER_LANGUAGE, "java", RUNS},
	{"groovy", SUFFIX_NONE, INTERPRETER_LANGUAGE, "java", RUNS},
	{"scala", SUFFIX_NONE, INTERPRETER_LANGUAGE, "java", RUNS},
	{"kotlin", SUFFIX_NONE, INTERPRETER_LANGUAGE, "java", RUNS},
	{"clojure", SUFFIX_NONE, INTERPRETER_LANGUAGE, "java", RUNS},
	{"clj", SUFFIX_NONE, INTERPRETER_LANGUAGE, "java", RUNS},
	{"guile", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "scheme", RUNS},
	{"racket", SUFFIX_NONE, INTERPRETER_LANGUAGE, "scheme", RUNS},
	{"mzscheme", SUFFIX_NONE, INTERPRETER_LANGUAGE, "scheme", RUNS},
	{"chibi-scheme", SUFFIX_NONE, INTERPRETER_LANGUAGE, "scheme", RUNS},
	{"csi", SUFFIX_NONE, INTERPRETER_LANGUAGE, "scheme", RUNS},
	{"sbcl", SUFFIX_NONE, INTERPRETER_LANGUAGE, "lisp", RUNS},
	{"clisp", SUFFIX_NONE, INTERPRETER_LANGUAGE, "lisp", RUNS},
	{"ecl", SUFFIX_NONE, INTERPRETER_LANGUAGE, "lisp", RUNS},
	{"emacs", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "lisp", RUNS},
	{"emacs-gtk", SUFFIX_NONE, INTERPRETER_LANGUAGE, "lisp", RUNS},
	{"emacs-lucid", SUFFIX_NONE, INTERPRETER_LANGUAGE, "lisp", RUNS},
	{"emacs-nox", SUFFIX_NONE, INTERPRETER_LANGUAGE, "lisp", RUNS},
	{"emacs-pgtk", SUFFIX_NONE, INTERPRETER_LANGUAGE, "lisp", RUNS},
	{"emacsclient", SUFFIX_NONE, INTERPRETER_LANGUAGE, "lisp", RUNS},
	{"emacsclient.emacs", SUFFIX_NONE, INTERPRETER_LANGUAGE, "lisp", RUNS},
	{"R", SUFFIX_NONE, INTERPRETER_LANGUAGE, "R", RUNS},
	{"Rscript", SUFFIX_NONE, INTERPRETER_LANGUAGE, "R", RUNS},
	{"octave", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "octave", RUNS},
	{"octave-cli", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "octave", RUNS},
	{"julia", SUFFIX_NONE, INTERPRETER_LANGUAGE, "julia", RUNS},
	{"ghc", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "haskell", RUNS},
	{"ghci", SUFFIX_VERSION, INTERPRETER_LANGUAGE, "haskell", RUNS},
	{"runghc", SUFFIX_NONE, INTERPRETER_LANGUAGE, "haskell", RUNS},
	{"runhaskell", SUFFIX_NONE, INTERPRETER_LANGUAGE, "haskell", RUNS},
	{"erl", SUFFIX_NONE, INTERPRETER_LANGUAGE, "erlang", RUNS},
	{"escript", SUFFIX_NONE, INTERPRETER_LANGUAGE, "erlang", RUNS},
	{"elixir", SUFFIX_NONE, INTERPRETER_LANGUAGE, "erlang", RUNS},
	{"iex", SUFFIX_NONE, INTERPRETER_LANGUAGE, "erlang", RUNS},
	{"beam.smp", SUFFIX_NONE, INTERPRETER_LANGUAGE, "erlang", RUNS},
	{"ocaml", SUFFIX_NONE, INTERPRETER_LANGUAGE, "ocaml", RUNS},
	{"ocamlrun", SUFFIX_NONE, INTERPRETER_LANGUAGE, "ocaml", RUNS},
	{"swipl", SUFFIX_NONE, INTERPRETER_LANGUAGE, "prolog", RUNS},
	{"gprolog", SUFFIX_NONE, INTERPRETER_LANGUAGE, "prolog", RUNS},
	{"gforth", SUFFIX_NONE, INTERPRETER_LANGUAGE, "forth", RUNS},
	{"go", SUFFIX_NONE, INTERPRETER_LANGUAGE, "go", RUNS},
	{"m4", SUFFIX_NONE, INTERPRETER_LANGUAGE, "m4", RUNS},

	{"env", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"nice", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"ionice", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"chrt", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"taskset", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"timeout", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"time", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"setsid", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"setarch", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"linux32", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"linux64", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"i386", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"x86_64", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"stdbuf", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"nohup", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"chroot", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"unshare", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"nsenter", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"setpriv", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"capsh", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"prlimit", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"choom", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"runuser", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"su", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"sudo", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"sudo-rs", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"sudo.ws", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"doas", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"pkexec", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"runcon", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"sg", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"newgrp", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"flock", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"watch", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"parallel", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"xargs", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"entr", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"strace", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"ltrace", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"catchsegv", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"valgrind", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"perf", SUFFIX_VERSION, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"unbuffer", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"script", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"screen", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"tmux", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"dtach", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"abduco", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"setlock", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"chpst", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"softlimit", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"dbus-run-session", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"dbus-launch", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"start-stop-daemon", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"run-parts", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"ssh-agent", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"fakeroot", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"fakeroot-sysv", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"fakeroot-tcp", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"proot", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"bwrap", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"firejail", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"systemd-run", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"systemd-inhibit", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"at", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"batch", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"crontab", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"tini", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"dumb-init", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"catatonit", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"gosu", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"su-exec", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"s6-setuidgid", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"daemonize", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"busctl", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", RUNS},
	{"find", SUFFIX_NONE, INTERPRETER_RUNNER, "-exec", RUNS},
	{"fd", SUFFIX_NONE, INTERPRETER_RUNNER, "-x", RUNS},
	{"fdfind", SUFFIX_NONE, INTERPRETER_RUNNER, "-x", RUNS},
	{"rg", SUFFIX_NONE, INTERPRETER_RUNNER, "--pre", RUNS},
	{"ag", SUFFIX_NONE, INTERPRETER_RUNNER, "--pager", RUNS},
	{"fzf", SUFFIX_NONE, INTERPRETER_RUNNER, "--bind", RUNS},
	{"sed", SUFFIX_NONE, INTERPRETER_RUNNER, "-e", RUNS},
	{"tar", SUFFIX_NONE, INTERPRETER_RUNNER, "--checkpoint-action", RUNS},
	{"bsdtar", SUFFIX_NONE, INTERPRETER_RUNNER, "--use-compress-program", RUNS},
	{"cpio", SUFFIX_NONE, INTERPRETER_RUNNER, "--rsh-command", RUNS},
	{"zip", SUFFIX_NONE, INTERPRETER_RUNNER, "-TT", RUNS},
	{"sort", SUFFIX_NONE, INTERPRETER_RUNNER, "--compress-program", RUNS},
	{"split", SUFFIX_NONE, INTERPRETER_RUNNER, "--filter", RUNS},
	{"install", SUFFIX_NONE, INTERPRETER_RUNNER, "--strip-program", RUNS},
	{"ssh", SUFFIX_NONE, INTERPRETER_RUNNER, "ProxyCommand", RUNS},
	{"sftp", SUFFIX_NONE, INTERPRETER_RUNNER, "ProxyCommand", RUNS},
	{"scp", SUFFIX_NONE, INTERPRETER_RUNNER, "ProxyCommand", RUNS},
	{"autossh", SUFFIX_NONE, INTERPRETER_RUNNER, "ProxyCommand", RUNS},
	{"ssh-add", SUFFIX_NONE, INTERPRETER_RUNNER, "SSH_ASKPASS", RUNS},
	{"rsync", SUFFIX_NONE, INTERPRETER_RUNNER, "-e", RUNS},
	{"git", SUFFIX_NONE, INTERPRETER_RUNNER, "aliases, hooks", RUNS},
	{"git-receive-pack", SUFFIX_NONE, INTERPRETER_RUNNER, "aliases, hooks", RUNS},
	{"git-upload-archive", SUFFIX_NONE, INTERPRETER_RUNNER, "aliases, hooks", RUNS},
	{"git-upload-pack", SUFFIX_NONE, INTERPRETER_RUNNER, "aliases, hooks", RUNS},
	{"git-shell", SUFFIX_NONE, INTERPRETER_RUNNER, "aliases, hooks", RUNS},
	{"git-lfs", SUFFIX_NONE, INTERPRETER_RUNNER, "aliases, hooks", RUNS},
	{"hg", SUFFIX_NONE, INTERPRETER_RUNNER, "hooks, extensions", RUNS},
	{"svn", SUFFIX_NONE, INTERPRETER_RUNNER, "editors, tunnels", RUNS},
	{"cvs", SUFFIX_NONE, INTERPRETER_RUNNER, "editors, tunnels", RUNS},
	{"bzr", SUFFIX_NONE, INTERPRETER_RUNNER, "editors, tunnels", RUNS},
	{"make", SUFFIX_NONE, INTERPRETER_RUNNER, "recipes", RUNS},
	{"gmake", SUFFIX_NONE, INTERPRETER_RUNNER, "recipes", RUNS},
	{"bmake", SUFFIX_NONE, INTERPRETER_RUNNER, "recipes", RUNS},
	{"ninja", SUFFIX_NONE, INTERPRETER_RUNNER, "recipes", RUNS},
	{"cmake", SUFFIX_VERSION, INTERPRETER_RUNNER, "recipes", RUNS},
	{"meson", SUFFIX_NONE, INTERPRETER_RUNNER, "recipes", RUNS},
	{"scons", SUFFIX_NONE, INTERPRETER_RUNNER, "recipes", RUNS},
	{"rake", SUFFIX_NONE, INTERPRETER_RUNNER, "recipes", RUNS},
	{"ant", SUFFIX_NONE, INTERPRETER_RUNNER, "recipes", RUNS},
	{"mvn", SUFFIX_NONE, INTERPRETER_RUNNER, "recipes", RUNS},
	{"gradle", SUFFIX_NONE, INTERPRETER_RUNNER, "recipes", RUNS},
	{"bazel", SUFFIX_NONE, INTERPRETER_RUNNER, "recipes", RUNS},
	{"just", SUFFIX_NONE, INTERPRETER_RUNNER, "recipes", RUNS},
	{"cargo", SUFFIX_NONE, INTERPRETER_RUNNER, "build scripts", RUNS},
	{"npm", SUFFIX_NONE, INTERPRETER_RUNNER, "build scripts", RUNS},
	{"npx", SUFFIX_NONE, INTERPRETER_RUNNER, "build scripts", RUNS},
	{"npm-cli.js", SUFFIX_NONE, INTERPRETER_RUNNER, "build scripts", RUNS},
	{"npx-cli.js", SUFFIX_NONE, INTERPRETER_RUNNER, "build scripts", RUNS},
	{"yarn", SUFFIX_NONE, INTERPRETER_RUNNER, "build scripts", RUNS},
	{"pnpm", SUFFIX_NONE, INTERPRETER_RUNNER, "build scripts", RUNS},
	{"pnpx", SUFFIX_NONE, INTERPRETER_RUNNER, "build scripts", RUNS},
	{"corepack", SUFFIX_NONE, INTERPRETER_RUNNER, "build scripts", RUNS},
	{"gem", SUFFIX_VERSION, INTERPRETER_RUNNER, "build scripts", RUNS},
	{"bundle", SUFFIX_VERSION, INTERPRETER_RUNNER, "build scripts", RUNS},
	{"bundler", SUFFIX_VERSION, INTERPRETER_RUNNER, "build scripts", RUNS},
	{"pip", SUFFIX_VERSION, INTERPRETER_RUNNER, "build scripts", RUNS},
	{"pipx", SUFFIX_NONE, INTERPRETER_RUNNER, "build scripts", RUNS},
	{"uv", SUFFIX_NONE, INTERPRETER_RUNNER, "build scripts", RUNS},
	{"uvx", SUFFIX_NONE, INTERPRETER_RUNNER, "build scripts", RUNS},
	{"composer", SUFFIX_NONE, INTERPRETER_RUNNER, "build scripts", RUNS},
	{"gdb", SUFFIX_NONE, INTERPRETER_RUNNER, "shell", RUNS},
	{"gdbserver", SUFFIX_NONE, INTERPRETER_RUNNER, "shell", RUNS},
	{"lldb", SUFFIX_VERSION, INTERPRETER_RUNNER, "shell", RUNS},
	{"vi", SUFFIX_NONE, INTERPRETER_RUNNER, ":!", RUNS},
	{"vim", SUFFIX_NONE, INTERPRETER_RUNNER, ":!", RUNS},
	{"vim.athena", SUFFIX_NONE, INTERPRETER_RUNNER, ":!", RUNS},
	{"vim.basic", SUFFIX_NONE, INTERPRETER_RUNNER, ":!", RUNS},
	{"vim.gtk3", SUFFIX_NONE, INTERPRETER_RUNNER, ":!", RUNS},
	{"vim.motif", SUFFIX_NONE, INTERPRETER_RUNNER, ":!", RUNS},
	{"vim.nox", SUFFIX_NONE, INTERPRETER_RUNNER, ":!", RUNS},
	{"vim.tiny", SUFFIX_NONE, INTERPRETER_RUNNER, ":!", RUNS},
	{"vimdiff", SUFFIX_NONE, INTERPRETER_RUNNER, ":!", RUNS},
	{"view", SUFFIX_NONE, INTERPRETER_RUNNER, ":!", RUNS},
	{"ex", SUFFIX_NONE, INTERPRETER_RUNNER, ":!", RUNS},
	{"rvim", SUFFIX_NONE, INTERPRETER_RUNNER, ":!", RUNS},
	{"rview", SUFFIX_NONE, INTERPRETER_RUNNER, ":!", RUNS},
	{"nvi", SUFFIX_NONE, INTERPRETER_RUNNER, ":!", RUNS},
	{"nvim", SUFFIX_NONE, INTERPRETER_RUNNER, ":!", RUNS},
	{"elvis", SUFFIX_NONE, INTERPRETER_RUNNER, ":!", RUNS},
	{"vis", SUFFIX_NONE, INTERPRETER_RUNNER, ":!", RUNS},
	{"ed", SUFFIX_NONE, INTERPRETER_RUNNER, ":!", RUNS},
	{"nano", SUFFIX_NONE, INTERPRETER_RUNNER, "spell, filters", RUNS},
	{"pico", SUFFIX_NONE, INTERPRETER_RUNNER, "spell, filters", RUNS},
	{"joe", SUFFIX_NONE, INTERPRETER_RUNNER, "spell, filters", RUNS},
	{"micro", SUFFIX_NONE, INTERPRETER_RUNNER, "spell, filters", RUNS},
	{"kak", SUFFIX_NONE, INTERPRETER_RUNNER, "spell, filters", RUNS},
	{"hx", SUFFIX_NONE, INTERPRETER_RUNNER, "spell, filters", RUNS},
	{"less", SUFFIX_NONE, INTERPRETER_RUNNER, "!command", RUNS},
	{"more", SUFFIX_NONE, INTERPRETER_RUNNER, "!command", RUNS},
	{"most", SUFFIX_NONE, INTERPRETER_RUNNER, "!command", RUNS},
	{"pg", SUFFIX_NONE, INTERPRETER_RUNNER, "!command", RUNS},
	{"man", SUFFIX_NONE, INTERPRETER_RUNNER, "!command", RUNS},
	{"mc", SUFFIX_NONE, INTERPRETER_RUNNER, "!command", RUNS},
	{"ranger", SUFFIX_NONE, INTERPRETER_RUNNER, "!command", RUNS},
	{"nnn", SUFFIX_NONE, INTERPRETER_RUNNER, "!command", RUNS},
	{"sqlite3", SUFFIX_NONE, INTERPRETER_RUNNER, ".shell", RUNS},
	{"psql", SUFFIX_NONE, INTERPRETER_RUNNER, "\\!", RUNS},
	{"mysql", SUFFIX_NONE, INTERPRETER_RUNNER, "\\!", RUNS},
	{"mariadb", SUFFIX_NONE, INTERPRETER_RUNNER, "\\!", RUNS},
	{"mysqlsh", SUFFIX_NONE, INTERPRETER_RUNNER, "\\!", RUNS},
	{"dc", SUFFIX_NONE, INTERPRETER_RUNNER, "!", RUNS},
	{"ftp", SUFFIX_NONE, INTERPRETER_RUNNER, "!", RUNS},
	{"lftp", SUFFIX_NONE, INTERPRETER_RUNNER, "!", RUNS},
	{"telnet", SUFFIX_NONE, INTERPRETER_RUNNER, "!", RUNS},
	{"nc", SUFFIX_NONE, INTERPRETER_RUNNER, "-e, EXEC:", RUNS},
	{"nc.traditional", SUFFIX_NONE, INTERPRETER_RUNNER, "-e, EXEC:", RUNS},
	{"ncat", SUFFIX_NONE, INTERPRETER_RUNNER, "-e, EXEC:", RUNS},
	{"socat", SUFFIX_VERSION, INTERPRETER_RUNNER, "-e, EXEC:", RUNS},
	{"wget", SUFFIX_NONE, INTERPRETER_RUNNER, "--use-askpass", RUNS},
	{"tcpdump", SUFFIX_NONE, INTERPRETER_RUNNER, "-z", RUNS},
	{"nmap", SUFFIX_NONE, INTERPRETER_RUNNER, "scripts", RUNS},
	{"logrotate", SUFFIX_NONE, INTERPRETER_RUNNER, "rotation scripts", RUNS},
	{"systemctl", SUFFIX_NONE, INTERPRETER_RUNNER, "units", RUNS},
	{"docker", SUFFIX_NONE, INTERPRETER_RUNNER, "containers", RUNS},
	{"podman", SUFFIX_NONE, INTERPRETER_RUNNER, "containers", RUNS},
	{"buildah", SUFFIX_NONE, INTERPRETER_RUNNER, "containers", RUNS},
	{"nerdctl", SUFFIX_NONE, INTERPRETER_RUNNER, "containers", RUNS},
	{"ctr", SUFFIX_NONE, INTERPRETER_RUNNER, "containers", RUNS},
	{"runc", SUFFIX_NONE, INTERPRETER_RUNNER, "containers", RUNS},
	{"crun", SUFFIX_NONE, INTERPRETER_RUNNER, "containers", RUNS},
	{"kubectl", SUFFIX_NONE, INTERPRETER_RUNNER, "containers", RUNS},
	{"gpg", SUFFIX_VERSION, INTERPRETER_RUNNER, "--agent-program", RUNS},
	{"cc", SUFFIX_NONE, INTERPRETER_RUNNER, "-wrapper", RUNS},
	{"c++", SUFFIX_NONE, INTERPRETER_RUNNER, "-wrapper", RUNS},
	{"gcc", SUFFIX_VERSION, INTERPRETER_RUNNER, "-wrapper", RUNS},
	{"g++", SUFFIX_VERSION, INTERPRETER_RUNNER, "-wrapper", RUNS},
	{"x86_64-linux-gnu-gcc", SUFFIX_VERSION, INTERPRETER_RUNNER, "-wrapper", RUNS},
	{"aarch64-linux-gnu-gcc", SUFFIX_VERSION, INTERPRETER_RUNNER, "-wrapper", RUNS},
	{"x86_64-linux-gnu-g++", SUFFIX_VERSION, INTERPRETER_RUNNER, "-wrapper", RUNS},
	{"aarch64-linux-gnu-g++", SUFFIX_VERSION, INTERPRETER_RUNNER, "-wrapper", RUNS},
	/* As the interpreter of programs, which is what every policy gives it, it runs what exec allows. */
	{"ld-linux-x86-64.so", SUFFIX_VERSION, INTERPRETER_RUNNER, "runs what it is given",
	 BH_PERM_EXEC},
	{"ld-linux-aarch64.so", SUFFIX_VERSION, INTERPRETER_RUNNER, "runs what it is given",
	 BH_PERM_EXEC},
	{"ld-linux.so", SUFFIX_VERSION, INTERPRETER_RUNNER, "runs what it is given", BH_PERM_EXEC},
	{"ld-musl-x86_64.so", SUFFIX_VERSION, INTERPRETER_RUNNER, "runs what it is given",
	 BH_PERM_EXEC},
	{"ld-musl-aarch64.so", SUFFIX_VERSION, INTERPRETER_RUNNER, "runs what it is given",
	 BH_PERM_EXEC},
	{"ld.so", SUFFIX_NONE, INTERPRETER_RUNNER, "runs what it is given", BH_PERM_EXEC},
};
const size_t ninterpreters = sizeof(interpreters) / sizeof(*interpreters);

const char *interpreter_kind_text(enum interpreter_kind kind)
{
	static const char *const texts[INTERPRETER_KINDS] = {
		[INTERPRETER_SHELL] = "shell",
		[INTERPRETER_LANGUAGE] = "language",
		[INTERPRETER_RUNNER] = "runner",
	};

	return texts[kind];
}

/* Bytes that may be repeated at the end of a row's name. */
static struct byte_set suffix_bytes(const struct interpreter *row)
{
	static const char *const bytes[] = {
		[SUFFIX_NONE] = "",
		[SUFFIX_VERSION] = "0123456789.-",
		[SUFFIX_MACHINE] = "0123456789.-_acghilnrux",
	};
	struct byte_set set = {0};

	for (const char *c = bytes[row->suffix]; *c; c++)
		byte_set_add(&set, (__u8)*c);
	return set;
}

static bool meet(const struct byte_set *a, const struct byte_set *b)
{
	for (unsigned int i = 0; i < BYTE_SET_WORDS; i++)
		if (a->words[i] & b->words[i])
			return true;
	return false;
}

static bool has(const struct glob_element *element, __u8 byte)
{
	return element->kind == GLOB_BYTE ? element->byte == byte
					  : byte_set_has(&element->set, byte);
}

static bool meets_suffix(const struct glob_element *element, const struct interpreter *row)
{
	const struct byte_set suffix = suffix_bytes(row);

	return element->kind == GLOB_BYTE ? byte_set_has(&suffix, element->byte)
					  : meet(&element->set, &suffix);
}

/* Bit i of `at`: i bytes of the name can have been read, bit `length` also with some of the suffix. */
static __u64 step(const struct interpreter *row, const struct glob_element *element, __u64 at)
{
	size_t length = strlen(row->name);
	__u64 next = 0;

	/* All from the lowest on. */
	if (element->kind == GLOB_STAR)
		return (((1ULL << length) << 1) - 1) & ~((at & -at) - 1);
	for (size_t i = 0; i < length; i++)
		if (at >> i & 1 && has(element, (__u8)row->name[i]))
			next |= 2ULL << i;
	if (at >> length & 1 && meets_suffix(element, row))
		next |= 1ULL << length;
	return next;
}

bool interpreter_meets(const struct interpreter *row, const char *component)
{
	struct glob_element element;
	__u64 at = 1;

	while (*component && at) {
		if (glob_read(&component, &element))
			return false; /* not well formed: no policy has it */
		at = step(row, &element, at);
	}
	return at >> strlen(row->name) & 1;
}
