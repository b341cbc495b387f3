#!/bin/sh
# The first process of a node: init.sh FOLDER SERVER NODE SERVICES. It runs in new mount, process and network namespaces,
# makes them what a kubelet expects, writes FOLDER/made, and reaps orphans until it is killed.
#
# Guarantees: nothing of the machine's own network, mounts or settings is changed; the two folders
# that mounts need are made where they are missing.
set -eu
work="$1" server="$2" node="$3" services="$4"

ip link set lo up
# The address of the Service `kubernetes`, on which kube-apiserver listens, and the node's own.
ip addr add "$server" dev lo
ip addr add "$node" dev lo
ip route add "$services" dev lo src "$node"
case "$node" in
    *:*) echo 1 >/proc/sys/net/ipv6/conf/all/forwarding ;;
    *) echo 1 >/proc/sys/net/ipv4/ip_forward ;;
esac

# Where kubelet and containerd write whatever their options say.
mkdir -p /var/lib/cni /var/lib/kubelet
for folder in /run /var/log /var/lib/cni /var/lib/kubelet; do
    mount -t tmpfs tmpfs "$folder"
done
# A kubelet shares mounts with its pods. Shared within this namespace: unshare made it private.
mount --make-rshared /

# What a kubelet sets unless it is so. These are the machine's, so it is shown files that say so.
wanted() {
    [ -e "/proc/sys/$1" ] || return 0
    file="$work/sysctl/$1"
    mkdir -p "${file%/*}"
    echo "$2" >"$file"
    mount --bind "$file" "/proc/sys/$1"
}
wanted vm/overcommit_memory 1
wanted vm/panic_on_oom 0
wanted kernel/panic 10
wanted kernel/panic_on_oops 1
wanted kernel/keys/root_maxkeys 1000000
wanted kernel/keys/root_maxbytes 25000000

: >"$work/made"
# As process 1 it is given the orphans; while it waits for its own child it reaps them, too.
sleep infinity &
wait
