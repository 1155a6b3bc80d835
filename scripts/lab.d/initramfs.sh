# shellcheck shell=bash
# The initramfs: a cached base (busybox, users, modules) and a payload made for each run.  The kernel
# unpacks archives one after another, so the two are only put end to end.  Neither is compressed:
# emulated decompression costs more than the larger copy.

# What a test may ask for and Debian's cloud kernels build as modules.  A name that a kernel lacks or
# has built in is skipped.
LAB_MODULES=(virtio_pci virtio_blk ext4 overlay loop fuse veth dummy bridge tun sctp vsock vsock_loopback
	algif_hash algif_skcipher inet_diag tcp_diag udp_diag unix_diag netlink_diag af_packet nf_tables)

LIBRARY_DIR=usr/lib/x86_64-linux-gnu

make_cpio() { # make_cpio TREE: archive on stdout, everything root's
	(cd "$1" && find . -mindepth 1 -print0 | LC_ALL=C sort -z | cpio -0 -o -H newc -R +0:+0 --quiet)
}

is_elf() {
	local magic
	LC_ALL=C IFS= read -r -N 4 magic <"$1" 2>/dev/null && [[ $magic == $'\x7fELF' ]]
}

# Libraries go where Debian's loader looks without a cache or a search path of its own.  What lies
# inside an added directory (RUNPATH $ORIGIN) comes with it.
add_libraries() { # add_libraries TREE FILE [OWN_DIR]
	local tree=$1 file=$2 own=${3:-/nonexistent} library
	is_elf "$file" || return 0
	while read -r library; do
		case $library in
		"$own"/*) ;;
		*/ld-linux-x86-64.so.2) install -D "$library" "$tree/usr/lib64/ld-linux-x86-64.so.2" ;;
		*) [[ -e $tree/$LIBRARY_DIR/${library##*/} ]] || install -D "$library" "$tree/$LIBRARY_DIR/${library##*/}" ;;
		esac
	done < <(ldd "$file" 2>/dev/null | grep -oE '/[^ ]+\.so[^ ]*' || true)
	if ldd "$file" 2>/dev/null | grep -q 'not found'; then
		say "warning: $file: $(ldd "$file" | grep -m 1 'not found' | xargs)"
	fi
}

add_host_program() { # add_host_program TREE NAME
	local path
	path=$(command -v "$2") || return 0
	rm -f "$1/usr/bin/$2"
	install -D "$path" "$1/usr/bin/$2"
	add_libraries "$1" "$path"
}

base_etc() { # base_etc TREE
	cat >"$1/etc/passwd" <<-'END'
		root:x:0:0:root:/root:/bin/sh
		lab:x:1000:1000:lab:/home/lab:/bin/sh
		nobody:x:65534:65534:nobody:/nonexistent:/bin/false
	END
	cat >"$1/etc/group" <<-'END'
		root:x:0:
		tty:x:5:
		bulkhead:x:990:
		bulkhead-admin:x:991:
		lab:x:1000:
		nogroup:x:65534:
	END
	echo 'passwd: files' >"$1/etc/nsswitch.conf"
	echo '127.0.0.1 localhost lab' >"$1/etc/hosts"
	echo lab >"$1/etc/hostname"
	echo 00000000000000000000000000000001 >"$1/etc/machine-id"
}

base_tree() { # base_tree TREE: a merged-/usr skeleton like Debian's
	local tree=$1 directory applet
	mkdir -p "$tree"/{usr/{bin,sbin,lib64,"${LIBRARY_DIR#usr/}",share},etc,dev,proc,sys,run,tmp,root,home/lab,lab,mnt,var,.lab}
	for directory in bin sbin lib lib64; do
		ln -s "usr/$directory" "$tree/$directory"
	done
	ln -s ../run "$tree/var/run"
	chmod 1777 "$tree/tmp"
	install "$(command -v busybox)" "$tree/usr/bin/busybox"
	while read -r applet; do
		[[ $applet == busybox ]] || ln -s busybox "$tree/usr/bin/$applet"
	done < <(busybox --list)
	# The kernel's module loader asks for this very path.
	ln -s ../bin/busybox "$tree/usr/sbin/modprobe"
	base_etc "$tree"
	add_host_program "$tree" bash
	add_host_program "$tree" setpriv
}

base_modules() { # base_modules TREE KERNEL_DIR
	local tree=$1 kernel=$2 release module file target
	release=$(cat "$kernel/release")
	[[ -d $kernel/modules ]] || return 0
	target=$tree/usr/lib/modules/$release
	mkdir -p "$target"
	cp "$kernel/modules/lib/modules/$release"/modules.{builtin,order}* "$target/" 2>/dev/null || true
	for module in "${LAB_MODULES[@]}"; do
		modprobe -d "$kernel/modules" -S "$release" --show-depends "$module" 2>/dev/null || true
	done | awk '$1 == "insmod" { print $2 }' | sort -u | while read -r file; do
		add_module "$file" "$target/kernel/${file##*/kernel/}"
	done
	depmod -b "$tree/usr" "$release" 2>/dev/null || depmod -b "$tree" "$release"
}

add_module() { # add_module FILE TARGET: unpacked here, busybox may not know the compression
	mkdir -p "${2%/*}"
	case $1 in
	*.xz) xz -dc "$1" >"${2%.xz}" ;;
	*.zst) zstd -qdc "$1" >"${2%.zst}" ;;
	*) cp "$1" "$2" ;;
	esac
}

make_base() { # make_base KERNEL_DIR OUT
	local kernel=$1 out=$2 tree=$2.tree
	need busybox cpio depmod modprobe
	rm -rf "$tree"
	base_tree "$tree"
	base_modules "$tree" "$kernel"
	make_cpio "$tree" >"$out"
	rm -rf "$tree"
}

base_cpio() { # base_cpio KERNEL_NAME KERNEL_DIR: print the cached base's path
	local key path
	key=$({ cat "$LAB_D/initramfs.sh" "$2/release" && stat -L -c '%n %s %Y' "$(command -v busybox)" "$2/vmlinuz"; } | sha256sum)
	path=$CACHE/base/${1//[^A-Za-z0-9.]/_}-${key:0:16}.cpio
	build_once "$path" make_base "$2" >&2
	# Bases of earlier versions; young ones may be in use by a lab that runs now.
	find "$CACHE/base" -maxdepth 1 -type f -mtime +2 ! -path "$path*" -delete
	printf '%s\n' "$path"
}

shell_words() { # shell_words WORD...: quoted for any POSIX shell (bash's %q is not)
	local word
	for word in "$@"; do
		printf "'%s' " "${word//\'/\'\\\'\'}"
	done
}

add_programs() { # add_programs TREE BIN: what the build made, on the guest's PATH
	local tree=$1 bin=$2 program
	for program in "$bin"/*; do
		[[ -f $program && -x $program ]] || continue
		install -D "$program" "$tree/usr/local/bin/${program##*/}"
		add_libraries "$tree" "$program"
	done
}

add_files() { # add_files TREE FILE...: --add, by basename into /lab
	local tree=$1 file inner
	shift
	for file in "$@"; do
		[[ -e $file ]] || die "--add: no such file: $file"
		file=$(realpath "$file")
		cp -a "$file" "$tree/lab/"
		while read -r inner; do
			add_libraries "$tree" "$inner" "$file"
		done < <(find "$file" -type f \( -perm /111 -o -name '*.so*' -o -name '*.node' \))
	done
}

make_payload() { # make_payload TREE SETTINGS POLICIES BIN ADD...: the tree for one run
	local tree=$1 settings=$2 policies=$3 bin=$4
	shift 4
	mkdir -p "$tree"/{lab,.lab,usr/local/bin,usr/share/bulkhead}
	cp "$LAB_D/guest-init" "$tree/init"
	cp "$LAB_D/guest-run" "$tree/.lab/run"
	chmod 755 "$tree/init" "$tree/.lab/run"
	printf '%s\n' "$settings" >"$tree/.lab/settings"
	add_programs "$tree" "$bin"
	if [[ -d $policies ]]; then cp -rL "$policies" "$tree/usr/share/bulkhead/policies"; fi
	add_files "$tree" "$@"
}
