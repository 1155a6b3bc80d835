# shellcheck shell=bash
# Kernels: find the one that is asked for, download Debian's when they are not in the cache.

kernel_rows() { grep -Ev '^[[:space:]]*(#|$)' "$LAB_D/kernels.conf"; }
kernel_names() { kernel_rows | awk '{ print $1 }'; }

# debian_mirror LABEL DEFAULT: where this machine's own apt finds Debian (a company mirror, perhaps)
debian_mirror() {
	local uri
	# shellcheck disable=SC2016 # apt's own substitution
	uri=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' "Label: $1" 2>/dev/null | sed -n 1p)
	printf '%s\n' "${uri:-$2}"
}

# A private apt state: other suites are read without a trace in the machine's own lists.  The update
# hooks are cleared because some machines clean or index their own apt cache in them.
apt_state() { # apt_state DIR SUITE
	local dir=$1 suite=$2 keyring=/usr/share/keyrings/debian-archive-keyring.gpg mirror security
	[[ -r $keyring ]] || die "$keyring is missing: install debian-archive-keyring"
	mirror=$(debian_mirror Debian http://deb.debian.org/debian/)
	security=$(debian_mirror Debian-Security http://deb.debian.org/debian-security/)
	mkdir -p "$dir/lists/partial" "$dir/archives/partial"
	printf 'deb [arch=amd64 signed-by=%s] %s %s main\n' "$keyring" "$mirror" "$suite" >"$dir/sources.list"
	if [[ $suite != sid ]]; then
		printf 'deb [arch=amd64 signed-by=%s] %s %s-security main\n' "$keyring" "$security" "$suite" >>"$dir/sources.list"
	fi
	cat >"$dir/apt.conf" <<-END
		Dir::Etc::sourcelist "$dir/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Dir::State::Lists "$dir/lists";
		Dir::State::status "/dev/null";
		Dir::Cache "$dir";
		APT::Architecture "amd64";
		APT::Sandbox::User "root";
		Acquire::Languages "none";
		#clear APT::Update::Pre-Invoke;
		#clear APT::Update::Post-Invoke;
		#clear APT::Update::Post-Invoke-Success;
	END
}

depends_on() { # depends_on CONF PACKAGE REGEX: the names among PACKAGE's dependencies that match
	apt-cache -c "$1" show --no-all-versions "$2" | sed -n 's/^Depends: //p' |
		tr ',|' '[\n*]' | awk '{ print $1 }' | grep -E "$3" || true
}

# The image package behind a metapackage.  When the suite has moved on to another series, the newest
# build of the named series is taken if the archive still has one.
image_package() { # image_package CONF NAME METAPACKAGE
	local conf=$1 name=$2 image older
	image=$(depends_on "$conf" "$3" '^linux-image-[0-9]' | sed -n 1p)
	[[ -n $image ]] || die "kernel $name: $3 depends on no linux-image package"
	if [[ $image != linux-image-"$name".* ]]; then
		older=$(apt-cache -c "$conf" search --names-only "^linux-image-${name//./\\.}\\.[^ ]*-cloud-amd64\$" |
			awk '{ print $1 }' | sort -V | tail -n 1)
		if [[ -n $older ]]; then image=$older; else say "kernel $name: the archive has moved on, using $image"; fi
	fi
	printf '%s\n' "$image"
}

fetch_kernel() { # fetch_kernel NAME SUITE METAPACKAGE OUT
	local name=$1 suite=$2 meta=$3 out=$4 conf=$4/apt/apt.conf image packages
	need apt-get dpkg-deb depmod
	say "kernel $name: downloading from Debian $suite (once)"
	apt_state "$out/apt" "$suite"
	apt-get -c "$conf" -qq update || die "kernel $name: apt-get update failed for suite $suite"
	image=$(image_package "$conf" "$name" "$meta")
	# Since 7.x the image package is itself a metapackage for the kernel and its modules.
	mapfile -t packages < <(depends_on "$conf" "$image" '^linux-(base|binary|modules)-[0-9]')
	(cd "$out/apt" && apt-get -c "$conf" -qq download "$image" "${packages[@]}") ||
		die "kernel $name: apt-get download failed for $image ${packages[*]}"
	unpack_kernel "$out"
	rm -rf "$out/apt" "$out/tree"
	say "kernel $name: $(cat "$out/release")"
}

unpack_kernel() { # unpack_kernel OUT: packages in OUT/apt to OUT/{vmlinuz,release,modules}
	local out=$1 package vmlinuz modules
	for package in "$out"/apt/*.deb; do
		dpkg-deb -x "$package" "$out/tree"
	done
	vmlinuz=$(find "$out/tree" -name 'vmlinuz*' -type f | sed -n 1p)
	modules=$(find "$out/tree" -path '*/lib/modules/*' -name kernel -type d -prune | sed -n 1p)
	[[ -n $vmlinuz && -n $modules ]] || die "no vmlinuz or modules in $(cd "$out/apt" && echo *.deb)"
	modules=${modules%/kernel}
	basename "$modules" >"$out/release"
	cp "$vmlinuz" "$out/vmlinuz"
	mkdir -p "$out/modules/lib/modules"
	mv "$modules" "$out/modules/lib/modules/"
	# The packages leave modules.dep to their installation.
	depmod -b "$out/modules" "$(cat "$out/release")"
}

# A kernel of your own: linked into the run's directory in the shape of a downloaded one.
local_kernel() { # local_kernel IMAGE MODULES OUT
	local image=$1 modules=$2 out=$3 release
	[[ -f $image ]] || die "no kernel image at $image"
	mkdir -p "$out"
	ln -sf "$(realpath "$image")" "$out/vmlinuz"
	if [[ -z $modules && -d ${image%/*}/modules ]]; then modules=${image%/*}/modules; fi
	# Either lib/modules/RELEASE itself or a directory that holds one RELEASE.
	if [[ -n $modules && ! -d $modules/kernel ]]; then
		modules=$(find "$modules" -maxdepth 4 -name kernel -type d | sed -n 1p)
		modules=${modules%/kernel}
	fi
	if [[ -n $modules ]]; then
		release=$(basename "$(realpath "$modules")")
		mkdir -p "$out/modules/lib/modules"
		cp -r "$modules" "$out/modules/lib/modules/$release"
		depmod -b "$out/modules" "$release"
	else
		release=none
	fi
	printf '%s\n' "$release" >"$out/release"
}

# find_kernel NAME RUN: print the directory with vmlinuz, release and modules
find_kernel() {
	local wanted=$1 run=$2 name source what modules
	if [[ $wanted == */* ]]; then
		local_kernel "$wanted" "" "$run/kernel"
		printf '%s\n' "$run/kernel"
		return
	fi
	while read -r name source what modules; do
		[[ $name == "$wanted" ]] || continue
		if [[ $source == file ]]; then
			local_kernel "$what" "$modules" "$run/kernel"
			printf '%s\n' "$run/kernel"
		else
			build_once "$CACHE/kernels/$name" fetch_kernel "$name" "$source" "$what" >&2
			printf '%s\n' "$CACHE/kernels/$name"
		fi
		return
	done < <(kernel_rows)
	die "unknown kernel '$wanted' (known: $(kernel_names | paste -sd' '), all, or the path of a bzImage)"
}
