# The sidecar of disk.py runs this: `run SECONDS COMMAND`, `freeze SECONDS`, `thaw`, `begin_write NAME`,
# `write_waited NAME` or `unmounted`.
# DEVICE is the node's own disk. It is empty where the data is an ordinary volume, which is mounted already.

# Each command mounts the disk in a mount namespace of its own, which ends with the command. Then only the broker has the
# disk mounted, which matters at a power loss: the disk recovers only when it is mounted again after the last unmount.
mounted='
if [ -n "$DEVICE" ]; then
  mkdir -p /k/data && mount -t ext4 -o "$OPTIONS" "$DEVICE" /k/data || exit 125
fi
'
inside() {
  if [ -n "$DEVICE" ]; then unshare -m "$@"; else "$@"; fi
}

run() {
  # A command that waits for a frozen disk cannot be killed. It then keeps this file open, but not the answer's stream.
  output=$(mktemp)
  inside timeout -s KILL "$1" sh -c "$mounted"'
    sh -c "$0"
    status=$?
    cd /
    [ -z "$DEVICE" ] || umount /k/data 2>/dev/null
    exit $status' "$2" >"$output" 2>&1
  status=$?
  tail -c 1048576 "$output"
  rm -f "$output"
  [ $status = 137 ] && return 124
  return $status
}

# The process that freezes the disk also thaws it, so the thaw does not depend on another process.
freezer='
use strict;
my ($limit) = @ARGV;
my $nothing = pack("L", 0);
sub over { unlink("/run/frozen", "/run/freezer"); exit($_[0]) }
sub thaw { ioctl(F, 0xC0045878, $nothing); over(0) }
open(F, "<", "/k/data") or die "open: $!\n";
$SIG{TERM} = $SIG{INT} = $SIG{HUP} = $SIG{ALRM} = \&thaw;
open(P, ">", "/run/freezer") && print(P $$) && close(P) or die "freezer: $!\n";
ioctl(F, 0xC0045877, $nothing) or do { print STDERR "FIFREEZE: $!\n"; over(1) };
open(P, ">", "/run/frozen");
my $end = time + $limit;
select(undef, undef, undef, $limit);
thaw();
'

freeze() {
  [ -e /run/freezer ] && echo "it is frozen already" && return 1
  rm -f /run/failed
  { setsid unshare -m sh -c "$mounted"'exec perl -e "$0" "$1"' "$freezer" "$1" 2>/run/why || touch /run/failed; } \
    </dev/null >/dev/null 2>&1 &
  for try in $(seq 1000); do
    [ -e /run/frozen ] && return 0
    [ -e /run/failed ] && cat /run/why && return 1
    sleep 0.02
  done
  kill -TERM "$(cat /run/freezer)" 2>/dev/null # it thaws as soon as it can
  echo "after 20 s, data from before the freeze is still being written"
  return 1
}

thaw() {
  if [ -e /run/freezer ]; then
    kill -TERM "$(cat /run/freezer)" 2>/dev/null
    for try in $(seq 250); do
      [ -e /run/freezer ] || break
      sleep 0.02
    done
  fi
  # The process that froze the disk may be gone, with a sidecar that was removed, or may be another program's.
  run 10 'fsfreeze -u /k/data 2>/dev/null; rm -f /run/frozen /run/freezer'
}

# The write goes on alone: a process that waits for a frozen disk cannot be killed. The files in /run say when it began,
# just before the write, and how long it took.
begin_write() {
  rm -f "/run/begun-$1" "/run/ended-$1"
  { setsid unshare -m sh -c "$mounted"'
      begun=$(date +%s%N) && echo "$begun" > "/run/begun-$0.new" && mv "/run/begun-$0.new" "/run/begun-$0" &&
      echo > "/k/data/.kafkacheck-write-$0" && ended=$(date +%s%N) &&
      echo $((ended - begun)) > "/run/ended-$0.new" && mv "/run/ended-$0.new" "/run/ended-$0"
      rm -f "/k/data/.kafkacheck-write-$0"' "$1"; } </dev/null >/dev/null 2>&1 &
  for try in $(seq 250); do
    [ -e "/run/begun-$1" ] && return 0
    sleep 0.02
  done
  echo "the disk cannot be mounted"
  return 1
}

write_waited() {
  [ -e "/run/begun-$1" ] || return 1
  if [ -e "/run/ended-$1" ]; then
    echo "ended $(cat "/run/ended-$1")"
  else
    echo "waits $(($(date +%s%N) - $(cat "/run/begun-$1")))"
  fi
}

# Wait until no container has the disk mounted.
unmounted() {
  for try in $(seq 500); do
    [ -e "/sys/fs/ext4/${DEVICE##*/}" ] || return 0
    sleep 0.02
  done
  return 1
}

"$@"
