# The helper container of loop_devices.py runs this: `make MIB NAME…`, `count`, `files`, `thaw` or `detach`. The backing
# file of each disk is /disks/<name>/<name>.ext4; it identifies the device, so no other record is needed.

# Link the host's loop devices to the names that losetup expects.
show() {
  for device in /host/dev/loop-control /host/dev/loop*; do
    case ${device##*/} in
      loop-control) ln -sf "$device" /dev/ ;;
      loop*[!0-9]* | 'loop*') ;; # a partition, or no device matched
      *) [ -b "$device" ] && ln -sf "$device" /dev/ ;;
    esac
  done
}

# A device is known by its number, which the next disk gets once it is detached. Two clean-ups of one cluster may run at
# the same time: the second one must not detach what has been attached since it looked. The lock is that of the host.
locked() {
  flock 9
  "$@"
  result=$?
  flock -u 9
  return $result
}

devices() {
  for device in /dev/loop[0-9]*; do
    [ -b "$device" ] && echo "$device"
  done
}

free() {
  for device in $(devices); do
    [ -e "/sys/block/${device#/dev/}/loop" ] || echo "$device"
  done
}

count() {
  echo "$(devices | wc -l) $(free | wc -l)"
}

files() {
  cat /sys/block/loop*/loop/backing_file 2>/dev/null
  return 0
}

# When two helpers want the same device, the kernel gives it to one of them, and the other takes the next.
attach() {
  for try in 1 2; do
    for device in $(free); do
      losetup "$device" "$1" 2>/dev/null && echo "$device" && return
    done
    losetup -f >/dev/null 2>&1 # where the kernel manages /dev, this adds a device
    show
  done
  return 1
}

# Of volumes that were removed by hand.
detach_removed() {
  losetup -a | sed -n 's|^\([^:]*\): .*(.*/kafkacheck-[^/]*\.ext4 (deleted))$|\1|p' | xargs -r -n 1 losetup -d
}

make() {
  size=$1
  shift
  locked detach_removed
  jobs=
  for name; do
    file=/disks/$name/$name.ext4
    # Kafka expects every folder in its data to be a partition's, and ends because of lost+found.
    { truncate -s "${size}M" "$file" &&
      mkfs.ext4 -q -F -b 4096 -m 0 -E nodiscard,lazy_itable_init=1 "$file" &&
      debugfs -w -R 'rmdir lost+found' "$file" 2>/dev/null; } &
    jobs="$jobs $!"
  done
  for job in $jobs; do
    wait "$job" || exit 1
  done
  for name; do
    found=$(locked attach "/disks/$name/$name.ext4") || exit 8
    echo "$name $found"
  done
}

attached() {
  for file in /disks/*/*.ext4; do
    [ -e "$file" ] && losetup -nO NAME -j "$file"
  done
}

thaw() {
  for device in $(attached); do
    timeout -s KILL 20 unshare -m sh -c 'mount -t ext4 -o "$0" "$1" /mnt && fsfreeze -u /mnt' \
      "$OPTIONS" "$device" >/dev/null 2>&1 &
  done
  wait
}

# One that is mounted is detached when it no longer is.
detach_attached() {
  left=$(attached)
  for device in $left; do
    losetup -d "$device"
  done
}

detach() {
  for try in $(seq 50); do
    locked detach_attached
    [ -z "$left" ] && return
    sleep 0.1
  done
  echo "still in use: $left"
  return 1
}

lock=/host/dev/loop-control
if ! (: <"$lock") 2>/dev/null; then
  [ "$1" != make ] || [ ! -e "$lock" ] || { echo "containers may not open /dev/loop-control"; exit 2; }
  lock=/host/dev/null # nothing can be attached, so nothing is to be detached
fi
exec 9<"$lock"
show
"$@"
