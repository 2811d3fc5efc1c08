#!/usr/bin/env bash
# Builds images without a registry, and gives them to the nodes that up.sh has started.
#   image.sh CONTEXT TAG [DOCKERFILE] [ARGUMENTS OF BUILDAH...]
#   image.sh --pause    the image that every pod's sandbox runs
#   image.sh --bases    stand-ins for base images, which the first form makes too: denoland/deno:VERSION
#                       from the deno that is here and Debian's libraries, and
#                       gcr.io/distroless/cc-debian12:nonroot from those libraries alone
# A tag is a whole name, with the host of a registry. Layers are kept, so that what has not changed is
# not built again, and what a node has it is not given again. Needs root and Debian's buildah and gcc.
set -euo pipefail
root=${PINGRESS_CLUSTER:-$HOME/.cache/pingress-cluster}
work=$root/images
mkdir -p "$work"
export PATH=$PATH:/usr/sbin:/sbin
export BUILDAH_ISOLATION=chroot
export CONTAINERS_STORAGE_CONF=$work/storage.conf
# Images without a name that are kept: those of a few builds.
most_dangling=60
exec 9>"$work/.lock"
flock 9
cat >"$CONTAINERS_STORAGE_CONF" <<CONF
[storage]
driver = "overlay"
graphroot = "$work/storage"
runroot = "$work/state"
CONF

fail() {
  echo "image.sh: $1 (remedy: $2)" >&2
  exit 1
}

id_of() { # id_of TAG: nothing where there is no such image
  buildah inspect --type image --format '{{.FromImageID}}' "$1" 2>/dev/null || true
}

load() { # load SOCKET: gives its containerd $work/image.tar
  local attempt
  for attempt in 1 2 3; do
    # What had this name before is collected meanwhile, at times with what both have in common.
    ctr --address "$1" --namespace k8s.io image import "$work/image.tar" >/dev/null && return
    sleep "$attempt"
  done
  fail "containerd does not take an image" "see what ctr says above"
}

import() { # import TAG: to every node that runs and has it not
  local id socket node marker
  id=$(id_of "$1")
  rm -f "$work/image.tar"
  for socket in "$root"/run/node*/containerd.sock; do
    [ -S "$socket" ] || continue
    node=$(basename "$(dirname "$socket")")
    marker=$root/containerd/$node/imported/${1//[\/:]/_}
    [ "$(cat "$marker" 2>/dev/null)" != "$id" ] || continue
    [ -f "$work/image.tar" ] || buildah push -q "$1" "docker-archive:$work/image.tar:$1"
    load "$socket"
    mkdir -p "$(dirname "$marker")"
    echo "$id" >"$marker"
  done
  rm -f "$work/image.tar"
}

commit() { # commit FOLDER TAG ARGUMENTS-OF-BUILDAH-CONFIG...
  local folder=$1 tag=$2 container
  shift 2
  container=$(buildah from scratch)
  buildah copy -q "$container" "$folder" / >/dev/null
  buildah config "$@" "$container"
  buildah commit -q "$container" "$tag" >/dev/null
  buildah rm "$container" >/dev/null
}

fetch() { # fetch PACKAGE...: into $work/packages
  rm -rf "$work/packages" && mkdir -p "$work/packages"
  (cd "$work/packages" && { apt-get download -qq "$@" 2>/dev/null ||
    { apt-get update -qq && apt-get download -qq "$@"; }; } >&2) ||
    fail "Debian's packages cannot be fetched" "see what apt-get says above"
}

bases() {
  local deno version cc=gcr.io/distroless/cc-debian12:nonroot package
  # What is on the PATH may be a script of npm's.
  deno=${DENO:-$(deno eval 'console.log(Deno.execPath())')}
  version=$("$deno" --version | awk 'NR == 1 {print $2}')
  [ -z "$(id_of "docker.io/denoland/deno:$version")" ] || [ -z "$(id_of "$cc")" ] || return 0
  fetch libc6 libgcc-s1 libstdc++6 ca-certificates tzdata base-files netbase busybox-static
  rm -rf "$work/cc" "$work/deno" && mkdir -p "$work/cc" "$work/deno"
  for package in "$work"/packages/*.deb; do
    case $package in */busybox*) ;; *) dpkg -x "$package" "$work/cc" ;; esac
    dpkg -x "$package" "$work/deno"
  done
  for folder in "$work/cc" "$work/deno"; do
    printf '%s\n' root:x:0:0:root:/root:/sbin/nologin \
      nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin >"$folder/etc/passwd"
    printf '%s\n' root:x:0: nonroot:x:65532: >"$folder/etc/group"
    install -d -o 65532 -g 65532 "$folder/home/nonroot"
    cat "$folder"/usr/share/ca-certificates/mozilla/*.crt >"$folder/etc/ssl/certs/ca-certificates.crt"
    chmod 1777 "$folder/tmp"
  done
  commit "$work/cc" "$cc" --user 65532:65532 --workingdir /home/nonroot
  for applet in sh ls cat mkdir cp mv rm ln chmod chown find sed; do
    ln -sf busybox "$work/deno/bin/$applet"
  done
  cp "$deno" "$work/deno/usr/bin/deno"
  commit "$work/deno" "docker.io/denoland/deno:$version" --entrypoint '["/usr/bin/deno"]' \
    --env DENO_DIR=/deno-dir/
  rm -rf "$work/cc" "$work/deno" "$work/packages"
}

case ${1:-} in
--pause)
  tag=docker.io/pingress/pause:1
  if [ -z "$(id_of $tag)" ]; then
    mkdir -p "$work/pause"
    printf '%s\n' '#include <signal.h>' '#include <unistd.h>' \
      'static void stop(int s) { _exit(0); }' \
      'int main(void) { signal(SIGTERM, stop); signal(SIGINT, stop); for (;;) pause(); }' |
      gcc -static -O2 -x c -o "$work/pause/pause" -
    commit "$work/pause" $tag --entrypoint '["/pause"]'
  fi
  import $tag
  ;;
--bases) bases ;;
'' | -*) fail "nothing to build" "image.sh CONTEXT TAG [DOCKERFILE] [ARGUMENTS OF BUILDAH...]" ;;
*)
  context=$1 tag=$2 file=${3:-$1/Dockerfile}
  shift $(($# < 3 ? $# : 3))
  bases
  buildah bud -q --layers --pull-never -t "$tag" -f "$file" "$@" "$context" >/dev/null
  # The containers of first stages are left, each with a mount that keeps this folder from being removed.
  buildah rm --all >/dev/null
  import "$tag"
  # Among what no image needs are the first stages of the last builds, with which the next ones begin.
  [ "$(buildah images --quiet --filter dangling=true | wc -l)" -lt "$most_dangling" ] ||
    buildah rmi --prune >/dev/null 2>&1 || true
  ;;
esac
