#!/usr/bin/env bash
# Starts a real cluster and prints the path of its kubeconfig: up.sh [api|node] [NODES]
#   api   etcd and kube-apiserver (the default)
#   node  also controller-manager, scheduler, kube-proxy, CoreDNS, and NODES (1 or 2) nodes, each a
#         containerd and a kubelet of its own; host ports of the one answer on 10.99.0.1 alone, those
#         of the other on 10.99.0.2. Pods reach each other, Services and the API server, and no more.
# What is asked of a machine stands below, at `need`. Exit code 77: this machine cannot.
# One cluster at a time: one that is there is stopped first. down.sh stops it, and leaves nothing.
# In: $PINGRESS_CLUSTER (~/.cache/pingress-cluster), $PINGRESS_API_PORT, $PINGRESS_ETCD_PORT.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tier=${1:-api}
nodes=${2:-1}
root=${PINGRESS_CLUSTER:-$HOME/.cache/pingress-cluster}
bin=$root/bin
run=$root/run
api_port=${PINGRESS_API_PORT:-6443}
etcd_port=${PINGRESS_ETCD_PORT:-2379}
export PATH=$PATH:/usr/sbin:/sbin
# Nothing that is started here may keep a lock of the caller's.
exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-

fail() { # fail PROBLEM REMEDY: this machine cannot
  echo "up.sh: $1 (remedy: $2)" >&2
  exit 77
}

need() { # need PROGRAM PACKAGE
  command -v "$1" >/dev/null || fail "$1 is missing" "apt-get install $2"
}

case $tier in
api) bind=127.0.0.1 advertise=127.0.0.1 ;;
node)
  [ "$(uname -s)" = Linux ] || fail "a node needs Linux" "use a machine or a VM with it"
  [ "$(id -u)" = 0 ] || fail "a node needs root" "run this as root"
  need containerd containerd
  need ctr containerd
  need runc runc
  need iptables iptables
  need ip iproute2
  need conntrack conntrack
  need buildah buildah
  need gcc gcc
  [ -x /usr/lib/cni/ptp ] || fail "CNI plugins are missing" "apt-get install containernetworking-plugins"
  bind=0.0.0.0 advertise=10.99.0.1
  ;;
*) fail "there is no tier $tier" "up.sh api or up.sh node" ;;
esac
case $nodes in 1 | 2) ;; *) fail "there cannot be $nodes nodes" "up.sh node 1 or up.sh node 2" ;; esac
need curl curl
need openssl openssl
need setsid util-linux
"$here/build.sh" "$tier" || exit 77
"$here/down.sh"
rm -rf "$run"
mkdir -p "$run/log" "$run/pid" "$run/command"

start() { # start NAME COMMAND...: the command can be repeated by $run/command/NAME
  local name=$1
  shift
  cat >"$run/command/$name" <<SH
#!/bin/sh
export PATH='$PATH'
setsid $(printf '%q ' "$@") >>'$run/log/$name.log' 2>&1 </dev/null &
echo \$! >'$run/pid/$name'
SH
  chmod +x "$run/command/$name"
  "$run/command/$name"
}

wait_for() { # wait_for SECONDS DESCRIPTION COMMAND...
  local seconds=$1 what=$2
  shift 2
  for _ in $(seq $((seconds * 10))); do
    "$@" >/dev/null 2>&1 && return
    sleep 0.1
  done
  echo "up.sh: $what was not ready in $seconds s; see $run/log" >&2
  exit 1
}

if [ "$tier" = node ]; then
  # A run that was killed has left it, and its processes.
  ! ip link show pingress0 >/dev/null 2>&1 ||
    fail "the bridge pingress0 of another cluster is there" "end it, by tests/cluster/down.sh with its PINGRESS_CLUSTER"
  # What kubelet and plugins change; down.sh puts it back.
  for name in net.ipv4.ip_forward vm.overcommit_memory vm.panic_on_oom kernel.panic \
    kernel.panic_on_oops kernel.keys.root_maxkeys kernel.keys.root_maxbytes; do
    value=$(sysctl -n "$name" 2>/dev/null) && echo "$name=$value"
  done >"$run/sysctl"
  # Addresses of our own, so that nothing depends on the machine's real interfaces.
  ip link add pingress0 type bridge
  for node in $(seq "$nodes"); do ip address add "10.99.0.$node/32" dev pingress0; done
  ip link set pingress0 up
  # An address without a pod is unreachable, as in any cluster: the default route may lead to a gateway
  # that accepts every connection, and a proxy would take its response for the pod's.
  ip route replace unreachable 10.88.0.0/16
  sysctl -qw net.ipv4.ip_forward=1
fi

openssl genrsa -out "$run/accounts.key" 2048 2>/dev/null
token=$(openssl rand -hex 16)
(umask 077 && echo "$token,admin,admin,system:masters" >"$run/tokens.csv")
start etcd "$bin/etcd" --data-dir "$run/etcd" --unsafe-no-fsync \
  --listen-client-urls "http://127.0.0.1:$etcd_port" \
  --advertise-client-urls "http://127.0.0.1:$etcd_port" --listen-peer-urls http://127.0.0.1:0
start apiserver "$bin/kube-apiserver" --etcd-servers="http://127.0.0.1:$etcd_port" \
  --cert-dir="$run/certificates" --secure-port="$api_port" --bind-address="$bind" \
  --advertise-address="$advertise" --service-cluster-ip-range=10.96.0.0/16 \
  --kubelet-preferred-address-types=InternalIP --authorization-mode=RBAC --allow-privileged \
  --shutdown-watch-termination-grace-period=1s \
  --service-account-key-file="$run/accounts.key" \
  --service-account-signing-key-file="$run/accounts.key" \
  --service-account-issuer=https://kubernetes.default.svc --token-auth-file="$run/tokens.csv"
wait_for 60 kube-apiserver \
  curl -fsk -H "Authorization: Bearer $token" "https://127.0.0.1:$api_port/readyz"
cat >"$run/kubeconfig" <<YAML
apiVersion: v1
kind: Config
clusters:
  - name: test
    cluster:
      server: https://$advertise:$api_port
      certificate-authority: $run/certificates/apiserver.crt
users: [{name: test, user: {token: $token}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
current-context: test
YAML
chmod 600 "$run/kubeconfig"
kubectl() { "$bin/kubectl" --kubeconfig "$run/kubeconfig" --cache-dir=/dev/null "$@"; }

start_node() { # start_node NUMBER
  local name=node$1 ip=10.99.0.$1 dir=$run/node$1
  mkdir -p "$dir/cni" "$root/containerd/$name"
  # Without bridges, so that what pods say to Services always passes the rules of kube-proxy.
  cat >"$dir/cni/10-pods.conflist" <<JSON
{"cniVersion": "0.4.0", "name": "pods$1", "plugins": [
  {"type": "ptp", "ipMasq": false, "ipam": {"type": "host-local", "dataDir": "$dir/addresses",
   "ranges": [[{"subnet": "10.88.$1.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}, "conditionsV4": ["-d", "$ip"]}]}
JSON
  # The root stays from one cluster to the next: images are in it.
  cat >"$dir/containerd.toml" <<TOML
version = 2
root = "$root/containerd/$name"
state = "$dir/containerd"
[grpc]
address = "$dir/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "docker.io/pingress/pause:1"
disable_apparmor = true
netns_mounts_under_state_dir = true
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "$dir/cni"
TOML
  start "containerd$1" containerd --config "$dir/containerd.toml"
  wait_for 30 containerd ctr --address "$dir/containerd.sock" version
  cat >"$dir/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
address: $ip
healthzBindAddress: $ip
cgroupDriver: cgroupfs
cgroupsPerQOS: false
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
containerRuntimeEndpoint: unix://$dir/containerd.sock
enforceNodeAllocatable: []
evictionHard:
  {memory.available: 50Mi, nodefs.available: 0%, imagefs.available: 0%, nodefs.inodesFree: 0%}
failCgroupV1: false
# Without cgroupsPerQOS it ends the kubelet where a killed container's pod is deleted.
featureGates: {InPlacePodVerticalScaling: false}
failSwapOn: false
imageGCHighThresholdPercent: 100
localStorageCapacityIsolation: false
oomScoreAdj: 0
podLogsDir: $dir/logs
volumePluginDir: $dir/plugins
YAML
}

# By default, all pods together have the CPU weight of one process outside of their cgroup, and starve beside
# a few busy ones. Where the kernel groups processes by session, a session has that weight, and pods with
# eight times as much starve their clients: beside busy loops, those stood still for 6 s of a rollout.
raise_cpu_weight_of_pods() {
  local v1=/sys/fs/cgroup/cpu v2=/sys/fs/cgroup times=8
  if [ "$(cat /proc/sys/kernel/sched_autogroup_enabled 2>/dev/null)" = 1 ]; then times=2; fi
  if [ -f "$v1/cpu.shares" ]; then
    mkdir -p "$v1/k8s.io" && echo $((times * 1024)) >"$v1/k8s.io/cpu.shares"
  else
    mkdir -p "$v2/k8s.io" && echo +cpu >"$v2/cgroup.subtree_control" &&
      echo $((times * 100)) >"$v2/k8s.io/cpu.weight"
  fi 2>/dev/null || echo "up.sh: cannot raise the CPU weight of pods" >&2
}

start_kubelet() { # start_kubelet NUMBER
  local dir=$run/node$1
  start "kubelet$1" "$bin/kubelet" --config "$dir/kubelet.yaml" --kubeconfig "$run/kubeconfig" \
    --root-dir "$dir/kubelet" --cert-dir "$dir/kubelet/pki" --hostname-override "node$1" \
    --node-ip "10.99.0.$1" --node-labels "topology.kubernetes.io/zone=zone$1"
}

ready() { # ready NUMBER: whether the node is
  kubectl get node "node$1" -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}' |
    grep -q True
}

if [ "$tier" = node ]; then
  start controller-manager "$bin/kube-controller-manager" --kubeconfig "$run/kubeconfig" \
    --bind-address 127.0.0.1 --leader-elect=false --use-service-account-credentials \
    --flex-volume-plugin-dir "$run/plugins" \
    --service-account-private-key-file "$run/accounts.key" \
    --root-ca-file "$run/certificates/apiserver.crt"
  start scheduler "$bin/kube-scheduler" --kubeconfig "$run/kubeconfig" --bind-address 127.0.0.1 \
    --leader-elect=false
  for node in $(seq "$nodes"); do start_node "$node"; done
  "$here/image.sh" --pause
  raise_cpu_weight_of_pods
  for node in $(seq "$nodes"); do start_kubelet "$node"; done
  start kube-proxy "$bin/kube-proxy" --kubeconfig "$run/kubeconfig" --hostname-override node1 \
    --cluster-cidr 10.88.0.0/16 --proxy-mode iptables --bind-address 127.0.0.1 \
    --iptables-localhost-nodeports=false --conntrack-max-per-core=0 \
    --conntrack-tcp-timeout-established=0 --conntrack-tcp-timeout-close-wait=0
  cat >"$run/Corefile" <<CONF
cluster.local:10053 {
  bind 10.99.0.1
  kubernetes cluster.local {
    kubeconfig $run/kubeconfig
  }
}
CONF
  start coredns "$bin/coredns" -conf "$run/Corefile"
  kubectl apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Service
metadata: {name: kube-dns, namespace: kube-system}
spec:
  clusterIP: 10.96.0.10
  ports:
    - {name: dns, port: 53, protocol: UDP, targetPort: 10053}
    - {name: dns-tcp, port: 53, protocol: TCP, targetPort: 10053}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: kube-dns-node
  namespace: kube-system
  labels: {kubernetes.io/service-name: kube-dns}
addressType: IPv4
endpoints: [{addresses: [10.99.0.1]}]
ports:
  - {name: dns, port: 10053, protocol: UDP}
  - {name: dns-tcp, port: 10053, protocol: TCP}
YAML
  for node in $(seq "$nodes"); do wait_for 90 "node$node" ready "$node"; done
  wait_for 30 "the default service account" kubectl get serviceaccount default
fi
echo "$run/kubeconfig"
