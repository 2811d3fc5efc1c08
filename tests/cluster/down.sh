#!/usr/bin/env bash
# Stops what up.sh started, and takes away what it has left on the machine: mounts, interfaces, rules
# of iptables, settings of the kernel. Programs, images and the last logs stay in $PINGRESS_CLUSTER.
set -uo pipefail
root=${PINGRESS_CLUSTER:-$HOME/.cache/pingress-cluster}
run=$root/run
export PATH=$PATH:/usr/sbin:/sbin
[ -d "$run" ] || exit 0

signal() { # signal NAME [SIGNAL]: whether there was a process to get it
  [ -f "$run/pid/$1" ] && kill "-${2:-TERM}" "$(cat "$run/pid/$1")" 2>/dev/null
}

stop() { # stop NAME: asks, waits, then insists
  local state
  if signal "$1"; then
    for _ in $(seq 50); do
      state=$(ps -o stat= -p "$(cat "$run/pid/$1")")
      case $state in '' | Z*) break ;; esac
      sleep 0.1
    done
    signal "$1" KILL
  fi
  rm -f "$run/pid/$1"
}

shims() { # the processes that keep the containers of our nodes
  local file
  for file in /proc/[0-9]*/cmdline; do
    # -a: between arguments stands NUL, at which grep else begins another line.
    grep -aqs "containerd-shim.*-address.$run/" "$file" && basename "$(dirname "$file")"
  done
}

for name in kubelet1 kubelet2; do signal "$name" KILL; done
for socket in "$run"/node*/containerd.sock; do
  [ -S "$socket" ] || continue
  ctr=(timeout 30 ctr --address "$socket" --namespace k8s.io)
  mapfile -t tasks < <("${ctr[@]}" tasks list --quiet 2>/dev/null)
  [ ${#tasks[@]} = 0 ] || "${ctr[@]}" tasks delete --force "${tasks[@]}" >/dev/null 2>&1
  mapfile -t containers < <("${ctr[@]}" containers list --quiet 2>/dev/null)
  [ ${#containers[@]} = 0 ] || "${ctr[@]}" containers delete "${containers[@]}" >/dev/null 2>&1
done
for name in coredns kube-proxy kubelet1 kubelet2 scheduler controller-manager \
  containerd1 containerd2 apiserver etcd; do stop "$name"; done
# What outlived an orderly end: containers first, then who keeps them.
mapfile -t left < <(shims)
for pid in ${left[@]+"${left[@]}"}; do
  ps -o pid= --ppid "$pid" | xargs -r kill -KILL 2>/dev/null
  kill -KILL "$pid" 2>/dev/null
done
awk -v dir="$run/" 'index($2, dir) == 1 {print $2}' /proc/mounts | sort -r |
  xargs -r -n1 umount --lazy
if [ -f "$run/sysctl" ]; then
  sysctl -q -p "$run/sysctl" >/dev/null
  for table in iptables ip6tables; do
    rules=$("$table-save" 2>/dev/null)
    case $rules in *KUBE-* | *CNI-*) grep -vE 'KUBE-|CNI-' <<<"$rules" | "$table-restore" ;; esac
  done
  ip link delete pingress0 2>/dev/null
  ip route delete unreachable 10.88.0.0/16 2>/dev/null
  for range in 10.88.0.0/16 10.99.0.0/24; do
    conntrack -D -s "$range" >/dev/null 2>&1
    conntrack -D -d "$range" >/dev/null 2>&1
  done
  # These are made wherever the folders of a kubelet and a containerd are.
  find /var/log/containers -type l -lname "$run/*" -delete 2>/dev/null
  rm -f /var/lib/kubelet/device-plugins/{kubelet.sock,kubelet_internal_checkpoint,DEPRECATION}
  for result in /var/lib/cni/results/pods[12]-*-eth0; do
    id=${result##*/pods?-}
    rm -f "$result" "/var/lib/cni/results/cni-loopback-${id%-eth0}-lo"
  done
  rmdir /var/log/containers /var/lib/kubelet/device-plugins /var/lib/kubelet \
    /var/lib/cni/results /var/lib/cni /sys/fs/cgroup/*/k8s.io /sys/fs/cgroup/k8s.io \
    /run/containerd/runc/k8s.io /run/containerd/runc /run/containerd/s /run/containerd 2>/dev/null
fi
rm -rf "$root/log"
mv "$run/log" "$root/log" 2>/dev/null
rm -rf "$run"
exit 0
