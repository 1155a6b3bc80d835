# shellcheck shell=bash
# One boot: start QEMU, watch it, read the status it left.

QEMU_PID=

kernel_command_line() {
	local line='console=ttyS0 panic=-1 loglevel=5'
	# Instruction counts repeat only when addresses do and nothing is patched for this CPU.
	if [[ $ICOUNT == yes ]]; then line+=' nokaslr mitigations=off norandmaps'; fi
	if [[ $MODE == full ]]; then line+=' systemd.unit=lab.target systemd.show_status=no'; fi
	if [[ -n $LSM ]]; then line+=" lsm=$LSM"; fi
	printf '%s %s\n' "$line" "$APPEND"
}

# `-cpu max` under TCG: /dev/kvm may exist on a virtual host and still not boot a stock kernel.
start_qemu() { # start_qemu KERNEL_DIR INITRAMFS RUN DISK
	local kernel=$1 initramfs=$2 run=$3 disk=$4 arguments
	arguments=(-M q35 -cpu max -m "${LAB_MEMORY:-2048}" -nodefaults -no-reboot -display none -monitor none)
	if [[ $ICOUNT == yes ]]; then
		arguments+=(-accel 'tcg,thread=single' -smp 1 -icount 'shift=0,sleep=off')
	else
		arguments+=(-accel "tcg,thread=$THREADS" -smp 2)
	fi
	arguments+=(-chardev "file,id=console,path=$run/console" -serial chardev:console)
	arguments+=(-chardev 'stdio,id=output,signal=off' -serial chardev:output)
	arguments+=(-chardev "file,id=status,path=$run/status" -serial chardev:status)
	if [[ -n $disk ]]; then arguments+=(-drive "$disk"); fi
	arguments+=(-kernel "$kernel/vmlinuz" -initrd "$initramfs" -append "$(kernel_command_line)")
	: >"$run/status"
	if [[ $SHELL_MODE == yes ]]; then
		# In the foreground for the terminal's sake.
		qemu-system-x86_64 "${arguments[@]}" 2>"$run/qemu.err" || true
		return
	fi
	# A lab that is killed outright takes its guest along.
	setpriv --pdeathsig KILL qemu-system-x86_64 "${arguments[@]}" </dev/null 2>"$run/qemu.err" &
	QEMU_PID=$!
}

stop_qemu() {
	[[ -n $QEMU_PID ]] || return 0
	kill "$QEMU_PID" 2>/dev/null || true
	wait "$QEMU_PID" 2>/dev/null || true
	QEMU_PID=
}

# watch_qemu SECONDS: wait for the end of the boot; 1 when it takes too long
watch_qemu() {
	local limit=$1 start
	[[ -n $QEMU_PID ]] || return 0
	start=$(uptime_seconds)
	while kill -0 "$QEMU_PID" 2>/dev/null; do
		if (($(uptime_seconds) - start >= limit)); then
			stop_qemu
			return 1
		fi
		sleep 0.2
	done
	wait "$QEMU_PID" 2>/dev/null || true
	QEMU_PID=
}

keep_log() { # keep_log RUN KERNEL_NAME: print where the console log was kept
	local logs=$CACHE/logs log
	mkdir -p "$logs"
	find "$logs" -type f -mtime +7 -delete
	log=$logs/$(date +%Y%m%dT%H%M%S)-${2//[^A-Za-z0-9.]/_}-$$.log
	{ cat "$1/console" "$1/qemu.err" 2>/dev/null || true; } | tr -d '\r' >"$log"
	printf '%s\n' "$log"
}

boot_failed() { # boot_failed RUN KERNEL_NAME REASON
	local log
	log=$(keep_log "$1" "$2")
	say "error: kernel $2: $3; end of the console log:"
	tail -n 25 "$log" | sed 's/^/  | /' >&2
	say "whole console log: $log"
	return "$LAB_FAILED"
}

# A kernel that complains while COMMAND succeeds is worth a look, yet COMMAND's status is the verdict.
report_kernel_trouble() { # report_kernel_trouble RUN KERNEL_NAME
	grep -Eqa 'BUG:|Oops|WARNING: |soft lockup|general protection|INFO: (task|rcu)' "$1/console" || return 0
	say "warning: kernel $2 complained, see $(keep_log "$1" "$2")"
}

# Guests take turns, as many at once as there are cores: more would only make each other run into
# their time limits.  The lock lives as long as this process and its QEMU.
take_turn() {
	local slot
	[[ -z ${TURN:-} ]] || return 0
	mkdir -p "$CACHE/turns"
	while true; do
		for ((slot = 1; slot <= $(nproc); slot++)); do
			exec {TURN}>"$CACHE/turns/$slot"
			if flock -n "$TURN"; then return 0; fi
			exec {TURN}>&-
		done
		sleep 1
	done
}

boot_once() { # boot_once NAME KERNEL_DIR INITRAMFS RUN DISK: COMMAND's status, or 125
	local name=$1 run=$4 status
	take_turn
	start_qemu "$2" "$3" "$run" "$5"
	if ! watch_qemu "$TIMEOUT"; then
		boot_failed "$run" "$name" "no end after $TIMEOUT s (see --timeout)" || return
	fi
	if [[ $SHELL_MODE == yes ]]; then return 0; fi
	status=$(tr -d '\r' <"$run/status" | sed -n 's/^status \([0-9]\{1,3\}\)$/\1/p' | tail -n 1)
	if [[ -z $status ]]; then
		boot_failed "$run" "$name" "the guest ended without reporting COMMAND's status" || return
	fi
	report_kernel_trouble "$run" "$name"
	return "$status"
}
