# The first process of a pod, in namespaces of its own. It makes the node's file system and waits for the end of the
# session, which closes its standard input. When it ends, the kernel kills all other processes of the pod.
# The file system is this machine's, without /run and /tmp. FOLDER has the node's own files, KAFKA those of the release.
set -e
root=$FOLDER/root
mount -t tmpfs -o mode=755 tmpfs "$root"
show() { # show FOLDER NAMES: what this machine has in a folder, without these names
  for each in "$1"/*; do
    case " $2 " in *" ${each##*/} "*) continue ;; esac
    if [ -L "$each" ]; then
      cp -P "$each" "$root$each"
    elif [ -d "$each" ]; then
      mkdir "$root$each"
      mount --rbind "$each" "$root$each"
    fi
  done
}
show "" "k opt proc run tmp"
mkdir -p "$root/k" "$root/opt/kafka/libs" "$root/proc" "$root/run" "$root/tmp"
show /opt kafka
mount -t proc proc "$root/proc"
mount --bind "$FOLDER/k" "$root/k"
mount --bind "$FOLDER/hosts" "$root/etc/hosts"
mount --bind "$KAFKA/libs" "$root/opt/kafka/libs"
if [ -d "$KAFKA/class-archives" ]; then
  mkdir -p "$root/k/class-archives"
  mount --bind "$KAFKA/class-archives" "$root/k/class-archives"
fi
hostname "$NAME"
exec chroot "$root" bash -c 'echo ready; read -r _; exit 0'
