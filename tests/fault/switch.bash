# SPDX-License-Identifier: Apache-2.0
# Hosts that are network namespaces on one switch: NS-0, NS-1, … with the addresses 198.51.100.1, .2, …

switched_hosts() { # COUNT
  NS=tfd-$$-${BATS_TEST_NUMBER:-0}
  [ "$(id -u)" = 0 ] && command -v ip >/dev/null || skip "needs root and iproute2"
  ip netns add "$NS-switch" 2>/dev/null && ip -n "$NS-switch" link add br0 type bridge 2>/dev/null || skip "no namespaces or bridges here"
  ip -n "$NS-switch" link set br0 up
  local i
  for ((i = 0; i < $1; ++i)); do
    ip netns add "$NS-$i"
    ip -n "$NS-$i" link set lo up
    ip -n "$NS-$i" link add eth0 type veth peer name "port$i" netns "$NS-switch"
    ip -n "$NS-$i" address add "198.51.100.$((i + 1))/24" dev eth0
    ip -n "$NS-$i" link set eth0 up
    ip -n "$NS-switch" link set "port$i" master br0 up
  done
}
# The cable of host I is pulled, and plugged in.
cut_off() { ip -n "$NS-switch" link set "port$1" down; }   # I
plugged_in() { ip -n "$NS-switch" link set "port$1" up; } # I
# The cable of host I carries RATE a second each way, "1mbit"; a packet waits for QUEUE at most, "400ms", or is dropped.
slow_cable() { # I RATE QUEUE
  tc -n "$NS-$1" qdisc add dev eth0 root tbf rate "$2" burst 16kb latency "$3" 2>/dev/null &&
    tc -n "$NS-switch" qdisc add dev "port$1" root tbf rate "$2" burst 16kb latency "$3"
}
switched_hosts_end() {
  local name
  [ -z "${NS:-}" ] || for name in $(ip netns list 2>/dev/null | sed -n "s/^\($NS-[a-z0-9]*\).*/\1/p"); do ip netns del "$name" || true; done
}
