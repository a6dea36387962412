# The one start command of every node, whatever its role. `exec` makes java the container's first process, so that
# signals, the freezer and the exit status are those of the node.
classes='/opt/kafka/libs/*'
set -f # arguments contain brackets

# BOOT: fast; train, which also writes an archive of the loaded classes when the JVM ends; plain, without any speed-up.
flags() {
  [ "$BOOT" = plain ] && return
  echo "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xshare:auto"
  if [ "$BOOT" = train ]; then
    mkdir -p /k/class-archives
    echo "-XX:ArchiveClassesAtExit=/k/class-archives/$1.jsa"
  elif [ -e "/k/class-archives/$1.jsa" ]; then
    echo "-XX:SharedArchiveFile=/k/class-archives/$1.jsa"
  fi
}

if [ "$ROLE" = zookeeper ]; then
  [ -e /k/data/myid ] || echo "$NODE" > /k/data/myid
  exec java $(flags zookeeper) -Xmx128m -Dzookeeper.jmx.log4j.disable=true "$LOGGING" -cp "$classes" \
    org.apache.zookeeper.server.quorum.QuorumPeerMain /k/zoo.cfg
fi

kind=zookeeper-mode
if [ -n "$CLUSTER_ID" ]; then
  kind=kraft
  if [ -e /k/data/meta.properties ]; then
    :
  elif [ -e /k/format/bootstrap.checkpoint ]; then
    cp /k/format/bootstrap.checkpoint /k/data/ && cp /k/format/meta.properties /k/data/ || exit 3
  else
    java -Xmx128m -XX:TieredStopAtLevel=1 -cp "$classes" kafka.tools.StorageTool \
      format -t "$CLUSTER_ID" -c /k/server.properties $FORMAT || exit 3
  fi
  # A node with a disk of its own (DURABLE) can lose power at any time; only synced files survive that.
  if [ -n "$DURABLE" ]; then
    sync /k/data/bootstrap.checkpoint /k/data/meta.properties 2>/dev/null || sync
  fi
fi
exec java $(flags $kind) -Xms"$HEAP_MIN"m -Xmx"$HEAP"m -XX:+ExitOnOutOfMemoryError -Djava.awt.headless=true \
  "$LOGGING" -Dkafka.logs.dir=/k/logs -cp "$classes" kafka.Kafka /k/server.properties
