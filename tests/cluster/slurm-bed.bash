# SPDX-License-Identifier: Apache-2.0
# A real Slurm of four "nodes" on this host: munged, slurmctld and four slurmd, all in a folder of their own, all ended by
# slurm_down. Needs root and Debian's slurm-wlm and munge. Sourced by slurm.bats.
#
#   slurm_up DIR     starts it and sets SLURM_CONF;   slurm_down DIR     ends what slurm_up started

slurm_missing() {  # prints missing parts, nothing if all are present
  [ "$(id -u)" = 0 ] || { echo "not root"; return; }
  local program
  for program in munged slurmctld slurmd srun salloc sbatch scontrol; do
    command -v "$program" >/dev/null || { echo "no $program (apt-get install slurm-wlm munge)"; return; }
  done
}

free_ports() {  # COUNT: a run of ports that nobody listens on now
  python3 - "$1" <<'PYTHON'
import random, socket, sys
count = int(sys.argv[1])
while True:
    first = random.randrange(20000, 30000)
    try:
        held = [socket.socket() for _ in range(count)]
        for i, s in enumerate(held):
            s.bind(("127.0.0.1", first + i))
        print(first)
        break
    except OSError:
        pass
PYTHON
}

slurm_wait() {  # SECONDS COMMAND…: until the command succeeds
  local deadline=$((SECONDS + $1)); shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$deadline" ] || { echo "timeout: $*" >&2; return 1; }
    read -rt 0.2 <> <(:) || :
  done
}

slurm_up() {
  local dir=$1 host first
  host=$(hostname -s)
  mkdir -p "$dir"/{state,spool,munge} && chmod 755 "$dir" "$dir/munge"
  first=$(free_ports 5)

  # munge: a key, a socket and a log of our own
  dd if=/dev/urandom of="$dir/munge/key" bs=1024 count=1 status=none
  chmod 400 "$dir/munge/key"
  chown -R munge "$dir/munge"
  setpriv --reuid munge --regid munge --clear-groups munged --foreground --socket="$dir/munge/socket" \
    --key-file="$dir/munge/key" --pid-file="$dir/munge/pid" --log-file="$dir/munge/log" --seed-file="$dir/munge/seed" \
    >"$dir/munge/out" 2>&1 </dev/null 3>&- &
  echo $! >"$dir/munged.pid"
  slurm_wait 10 test -S "$dir/munge/socket"

  local gpu  # copies of /dev/null: Slurm numbers CUDA_VISIBLE_DEVICES by device files, but not by plain ones
  for gpu in 0 1 2 3; do mknod "$dir/gpu$gpu" c 1 3 || touch "$dir/gpu$gpu"; done
  cat >"$dir/slurm.conf" <<CONF
ClusterName=t
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$first
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.%n.pid
SlurmdSpoolDir=$dir/spool/%n
StateSaveLocation=$dir/state
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.%n.log
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
CredType=cred/munge
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SwitchType=switch/none
MpiDefault=none
MpiParams=ports=31000-31099
JobAcctGatherType=jobacct_gather/none
SlurmUser=root
ReturnToService=2
InactiveLimit=0
SchedulerParameters=bf_interval=1
LaunchParameters=use_interactive_step
InteractiveStepOptions="--interactive --preserve-env /bin/bash"
KillWait=2
GresTypes=gpu
NodeName=n[1-4] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((first + 1))-$((first + 4))] CPUs=4 RealMemory=1000 Gres=gpu:4
PartitionName=p Nodes=ALL Default=YES MaxTime=10 State=UP
CONF
  echo "Name=gpu File=$dir/gpu[0-3]" >"$dir/gres.conf"
  export SLURM_CONF=$dir/slurm.conf

  slurmctld -D -c >"$dir/slurmctld.out" 2>&1 </dev/null 3>&- &
  echo $! >"$dir/slurmctld-own.pid"
  local n
  for n in 1 2 3 4; do
    mkdir -p "$dir/spool/n$n"
    slurmd -D -N "n$n" >"$dir/slurmd.n$n.out" 2>&1 </dev/null 3>&- &
    echo $! >"$dir/slurmd-own.n$n.pid"
  done
  slurm_wait 60 slurm_all_idle
}

slurm_all_idle() { [ "$(sinfo -h -N -t idle -o %N | sort -u | wc -l)" = 4 ]; }

slurm_down() {
  local dir=$1 pid file
  export SLURM_CONF=$dir/slurm.conf
  if [ -e "$dir/slurmctld-own.pid" ]; then
    timeout 10 scancel --state=RUNNING --state=PENDING -u root 2>/dev/null || :
    slurm_wait 15 slurm_all_idle 2>/dev/null || :
  fi
  for file in "$dir"/slurmd-own.n*.pid "$dir/slurmctld-own.pid" "$dir/munged.pid"; do
    [ -s "$file" ] || continue
    pid=$(cat "$file")
    kill "$pid" 2>/dev/null || continue
    slurm_wait 10 slurm_gone "$pid" || kill -9 "$pid" 2>/dev/null || :
  done
}

slurm_gone() { ! kill -0 "$1" 2>/dev/null; }
