# The helper container of disk.py runs this: `CONTAINER DEVICE`, and for a change the bytes per second, 0 for none.
# It prints the limit that the kernel then reports, 0 for none.
container=$1
device=$(cat "/sys/block/${2##*/}/dev")
rate=$3

# Version 1 of control groups has a tree for block devices, version 2 has one tree for everything.
for root in /host/cgroup/blkio /host/cgroup; do
  [ -d "$root" ] || continue
  group=$(find "$root" -type d -name "*$container*" 2>/dev/null | head -n 1)
  if [ -e "$group/blkio.throttle.write_bps_device" ]; then
    [ -z "$rate" ] || echo "$device $rate" >"$group/blkio.throttle.write_bps_device" || exit 1
    limit=$(sed -n "s/^$device //p" "$group/blkio.throttle.write_bps_device")
  elif [ -e "$group/io.max" ]; then
    [ -z "$rate" ] || echo "$device wbps=$(echo "$rate" | sed 's/^0$/max/')" >"$group/io.max" || exit 1
    limit=$(sed -n "s/^$device .*wbps=\\([0-9]*\\).*/\\1/p" "$group/io.max")
  else
    continue
  fi
  echo "${limit:-0}"
  exit 0
done
echo "the control group of the container has neither blkio.throttle.write_bps_device nor io.max"
exit 3
