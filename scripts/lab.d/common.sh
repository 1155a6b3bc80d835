# shellcheck shell=bash
# Helpers shared by the lab's parts: messages, the cache and its locks.

# Exit status of the lab itself.  COMMAND's own status is passed through, so this one is kept
# apart from what programs usually return.
LAB_FAILED=125

say() { printf 'lab: %s\n' "$*" >&2; }
die() {
	say "error: $*"
	exit "$LAB_FAILED"
}

# HOME is unset under some service managers and cron.
cache_dir() {
	local home=${HOME:-/root}
	printf '%s\n' "${BULKHEAD_CACHE:-${XDG_CACHE_HOME:-$home/.cache}/bulkhead}"
}

need() { # need PROGRAM... : stop when the host lacks a program
	local program missing=()
	for program in "$@"; do
		command -v "$program" >/dev/null || missing+=("$program")
	done
	((${#missing[@]} == 0)) || die "missing on this host: ${missing[*]} (run 'scripts/setup lab')"
}

# build_once PATH FUNCTION [ARG...]: make PATH with FUNCTION ARG... TEMPORARY unless it is there.
# Two labs often start together: one builds, the other waits.  The rename at the end means that an
# interrupted build leaves a temporary, never something that looks complete.
build_once() {
	local path=$1 lock temporary
	shift
	[[ -e $path ]] && return
	mkdir -p "${path%/*}"
	exec {lock}>"$path.lock"
	flock "$lock"
	if [[ ! -e $path ]]; then
		temporary=$path.part
		rm -rf "$temporary"
		"$LAB_D/build" "$@" "$temporary" || die "cannot make $path (see above)"
		mv -T "$temporary" "$path"
	fi
	exec {lock}>&-
}

# Monotonic: a clock that is set while the lab runs must not end or stretch a boot.
uptime_seconds() {
	local up
	read -r up _ </proc/uptime
	printf '%s\n' "${up%.*}"
}
