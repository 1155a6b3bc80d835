# shellcheck shell=bash
# The disk of --full: Debian 12 on ext4, built once.

# Raise it when the image must be rebuilt for another reason than the two lists below.
IMAGE_VERSION=1
IMAGE_PACKAGES=(systemd systemd-sysv dbus nodejs python3 git curl socat iproute2 iputils-ping procps psmisc
	util-linux strace less kmod libbpf1 libelf1 zlib1g libcyaml1 libyaml-0-2 libjansson4 libsystemd0 libsodium23
	libcap-ng0 libseccomp2 libcmocka0 ca-certificates
	libunbound8 libldns3 libmnl0 nsd nginx-light openssl tcpdump musl
	gcc libc6-dev make gpg gpg-agent npm openssh-client openssh-server gron python3-pip ripgrep sqlite3 tmux bubblewrap runc crun)

# Useless in a guest that lives for a minute: each of these costs a second or more under emulation.
IMAGE_MASKED=(apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer
	e2scrub_reap.service fstrim.timer logrotate.timer man-db.timer systemd-tmpfiles-clean.timer
	getty@tty1.service serial-getty@ttyS0.service getty-static.service console-getty.service
	systemd-networkd-wait-online.service systemd-timesyncd.service systemd-random-seed.service
	systemd-pstore.service systemd-update-utmp.service systemd-update-utmp-runlevel.service
	systemd-machine-id-commit.service systemd-firstboot.service systemd-hwdb-update.service
	ldconfig.service ssh.service ssh.socket
	systemd-binfmt.service systemd-udev-settle.service sys-fs-fuse-connections.mount
	modprobe@configfs.service modprobe@drm.service modprobe@efi_pstore.service)

image_sources() {
	printf 'deb %s bookworm main\n' "$(debian_mirror Debian http://deb.debian.org/debian/)"
	printf 'deb %s bookworm-security main\n' "$(debian_mirror Debian-Security http://deb.debian.org/debian-security/)"
}

configure_image() { # configure_image ROOT
	local root=$1 unit
	for unit in "${IMAGE_MASKED[@]}"; do
		ln -sf /dev/null "$root/etc/systemd/system/$unit"
	done
	chroot "$root" groupadd -f -g 990 bulkhead
	chroot "$root" groupadd -f -g 991 bulkhead-admin
	chroot "$root" useradd -m -u 1000 -U -s /bin/bash lab
	echo lab >"$root/etc/hostname"
	echo '127.0.0.1 localhost lab' >"$root/etc/hosts"
	echo '/dev/vda / ext4 defaults 0 0' >"$root/etc/fstab"
	# An empty machine-id would make every boot a first boot, with all its presets.
	echo 00000000000000000000000000000001 >"$root/etc/machine-id"
	mkdir -p "$root/lab" "$root/.lab"
	# An absent directory would make journald keep its log in memory; --boots reads it back.
	mkdir -p "$root/var/log/journal"
}

make_image() { # make_image OUT
	local out=$1 root=$1.root size
	need mmdebstrap mke2fs
	((EUID == 0)) || die "building the disk of --full needs root, once: sudo -E scripts/lab --full -- true"
	say "building the Debian 12 disk of --full (once, some minutes)"
	rm -rf "$root"
	mmdebstrap --quiet --mode=root --variant=minbase --aptopt='APT::Install-Recommends "false"' \
		--include="$(IFS=,; printf '%s' "${IMAGE_PACKAGES[*]}")" \
		--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		bookworm "$root" < <(image_sources) || die "mmdebstrap failed"
	configure_image "$root"
	# Room for what tests write; the file is sparse.
	size=$(($(du -sm "$root" | cut -f 1) + 2048))
	truncate -s "${size}M" "$out"
	mke2fs -q -t ext4 -E lazy_itable_init=1,nodiscard -d "$root" "$out" || die "mke2fs failed for $out"
	rm -rf "$root"
}

image_path() { # print the cached image's path, building it when needed
	local key path
	key=$(printf '%s\n' "$IMAGE_VERSION" "${IMAGE_PACKAGES[@]}" "${IMAGE_MASKED[@]}" | sha256sum)
	path=$CACHE/images/bookworm-${key:0:16}.ext4
	build_once "$path" make_image >&2
	# Earlier images are large; young ones may be in use by a lab that runs now.
	find "$CACHE/images" -maxdepth 1 -name '*.ext4' -mtime +2 ! -path "$path" -delete
	printf '%s\n' "$path"
}

# QEMU's -drive for one run.  Every run starts from the same disk; a run of several boots needs a copy
# that outlives each of its QEMU processes.
disk_for_run() { # disk_for_run RUN
	local image
	image=$(image_path) || return
	if ((BOOTS > 1)); then
		cp --reflink=auto --sparse=always "$image" "$1/disk" || die "no room for a copy of the disk in $1"
		printf 'file=%s,format=raw,if=virtio,cache=unsafe\n' "$1/disk"
	else
		printf 'file=%s,format=raw,if=virtio,snapshot=on,cache=unsafe\n' "$image"
	fi
}
