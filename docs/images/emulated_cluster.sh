#!/bin/sh
# Emulates eight nodes n1 … n8 on 100 Mbit/s links, one of them with a bad cable (n6, 60 Mbit/s), and runs a command.
#
#   emulated_cluster.sh crosscut run aapc --on hosts:nodes.txt --wait block --no-pin --out slow-cable.zarr
#
# A node is a network namespace with its own host name, a link a veth pair shaped in both directions (token bucket), the
# switch a bridge. All of it is in namespaces of this script and vanishes when it ends. Needs root, or a kernel that lets
# users make namespaces. Instead of ssh, the command enters nodes by `emulated_cluster.sh enter NODE COMMAND`. The script
# writes nodes.txt in the current folder.
set -eu

nodes=8 rate=100mbit bad_node=6 bad_rate=60mbit
self=$(realpath "$0")

if [ "$1" = enter ]; then
    exec nsenter --net="/run/netns/$2" unshare --uts sh -c "hostname $2; exec $3"
fi
if [ "$1" != inside ]; then
    flags=-nm
    [ "$(id -u)" = 0 ] || flags=-Urnm
    exec unshare $flags -- "$self" inside "$@"
fi
shift

mount -t tmpfs none /run
ip link set lo up
ip link add switch type bridge
ip link set switch up
: > nodes.txt
for node in $(seq $nodes); do
    link=$rate
    [ "$node" = $bad_node ] && link=$bad_rate
    ip netns add "n$node"
    ip link add "port$node" type veth peer name eth0 netns "n$node"
    ip link set "port$node" master switch up
    ip -n "n$node" addr add "10.0.0.$node/24" dev eth0
    ip -n "n$node" link set lo up
    ip -n "n$node" link set eth0 up
    tc qdisc add dev "port$node" root tbf rate $link burst 16kb latency 50ms
    tc -n "n$node" qdisc add dev eth0 root tbf rate $link burst 16kb latency 50ms
    echo "n$node" >> nodes.txt
done
exec "$@" --interface eth0 --launcher "$self enter"
