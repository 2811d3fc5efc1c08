#!/usr/bin/env bash
# Builds the programs of a real cluster from their Go modules: build.sh [api|control|node]
#   api      etcd, kube-apiserver and kubectl (the default): about 5 minutes of two cores
#   control  also kube-controller-manager and kube-scheduler
#   node     also kubelet, kube-proxy and CoreDNS
# Out: $PINGRESS_CLUSTER/bin, by default ~/.cache/pingress-cluster/bin. What is there stays: delete
# it after a change of go.mod. Needs Go 1.24, whose module cache it fills.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tier=${1:-api}
bin=${PINGRESS_CLUSTER:-$HOME/.cache/pingress-cluster}/bin
version=v1.34.4 # as in go.mod

fail() {
  echo "build.sh: $1 (remedy: $2)" >&2
  exit 1
}

case $tier in
api)
  wanted="etcd kubectl kube-apiserver"
  instead=", or let KUBEBUILDER_ASSETS name a folder with etcd and kube-apiserver"
  ;;
control)
  wanted="etcd kubectl kube-apiserver kube-controller-manager kube-scheduler"
  instead=
  ;;
node)
  wanted="etcd kubectl kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy"
  wanted="$wanted coredns"
  instead=
  ;;
*) fail "there is no tier $tier" "build.sh api, build.sh control or build.sh node" ;;
esac

minor=24 # as in go.mod
remedy="install Go 1.$minor or newer from https://go.dev/dl/$instead"
missing=
for name in $wanted; do [ -x "$bin/$name" ] || missing="$missing $name"; done
[ "$missing" ] || exit 0

# The Go that is here, and no other that it might fetch.
export GOTOOLCHAIN=local GOWORK=off GOFLAGS=-mod=readonly CGO_ENABLED=0
command -v go >/dev/null || fail "cannot build$missing: Go is not installed" "$remedy"
go=$(go env GOVERSION)
[[ $go =~ ^go1\.([0-9]+) ]] || fail "cannot build$missing: Go calls itself $go" "$remedy"
[ "${BASH_REMATCH[1]}" -ge "$minor" ] ||
  fail "cannot build$missing: Go 1.$minor is needed, this is $go" "$remedy"

mkdir -p "$bin"
# One build at a time; the others then find what it made.
if command -v flock >/dev/null; then
  exec 9>"$bin/.lock"
  flock 9
fi

flags="-s -w"
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  flags="$flags -X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=34"
done

build() { # build MODULE-FOLDER PACKAGE NAME
  [ -x "$bin/$3" ] && return
  echo "building $3" >&2
  # Under another name until it is whole: a build that was interrupted must not count as one. Modules
  # are downloaded on the way: a name server that does not answer once must not cost a whole run.
  local pause
  for pause in 5 20 60 0; do
    # The linker drops debug information (-w), so the compiler does not make it: a sixth of its CPU.
    # BUILD_FLAGS of tests/peers/go_program.ts are the same, so that the standard library is compiled once.
    (cd "$1" && go build -trimpath -gcflags=all=-dwarf=false -ldflags "$flags" -o "$bin/.$3" "$2") && break
    [ "$pause" != 0 ] || return 1
    echo "building $3 again in $pause s" >&2
    sleep "$pause"
  done
  mv "$bin/.$3" "$bin/$3"
}

for name in $missing; do
  case $name in
  etcd) build "$here" go.etcd.io/etcd/server/v3 etcd ;;
  coredns) build "$here" ./coredns coredns ;;
  *) build "$here" "k8s.io/kubernetes/cmd/$name" "$name" ;;
  esac
done
