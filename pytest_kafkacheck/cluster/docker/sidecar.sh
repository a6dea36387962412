# What runs in the sidecar of disk.py: `run SECONDS COMMAND`, `freeze SECONDS`, `thaw` or
# `unmounted`. DEVICE is the node's own disk,
# or empty where its data is an ordinary volume, which then is mounted already.

# In a mount namespace of the command's own: with its end the file system is the broker's alone again. That counts at
# a power loss, after which it must be mounted anew.
mounted='
if [ -n "$DEVICE" ]; then
  mkdir -p /k/data && mount -t ext4 -o "$OPTIONS" "$DEVICE" /k/data || exit 125
fi
'
inside() {
  if [ -n "$DEVICE" ]; then unshare -m "$@"; else "$@"; fi
}

run() {
  # A command that waits for a frozen disk cannot be killed: it keeps this file, but not the stream of the answer.
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

# The process that freezes is the one that thaws, so that nobody else needs to live until then.
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
  kill -TERM "$(cat /run/freezer)" 2>/dev/null # as soon as it can
  echo "still writing, after 20 s, what was to be written before"
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
  # Whoever froze it may be gone: a process of a sidecar that was removed, or somebody else's.
  run 10 'fsfreeze -u /k/data 2>/dev/null; rm -f /run/frozen /run/freezer'
}

# Wait until nobody has it mounted, in whatever container.
unmounted() {
  for try in $(seq 500); do
    [ -e "/sys/fs/ext4/${DEVICE##*/}" ] || return 0
    sleep 0.02
  done
  return 1
}

"$@"
