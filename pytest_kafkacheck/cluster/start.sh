# What a node's container runs, whatever its role. `exec` makes java the first process: signals, the
# freezer and the exit status are the node's own.
classes='/opt/kafka/libs/*'
set -f # arguments hold brackets
flags="-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"

if [ "$ROLE" = zookeeper ]; then
  [ -e /k/data/myid ] || echo "$NODE" > /k/data/myid
  exec java $flags -Xmx128m -Dzookeeper.jmx.log4j.disable=true "$LOGGING" -cp "$classes" \
    org.apache.zookeeper.server.quorum.QuorumPeerMain /k/zoo.cfg
fi

if [ -n "$CLUSTER_ID" ] && [ ! -e /k/data/meta.properties ]; then
  java -Xmx128m -XX:TieredStopAtLevel=1 -cp "$classes" kafka.tools.StorageTool \
    format -t "$CLUSTER_ID" -c /k/server.properties $FORMAT || exit 3
fi
exec java $flags -Xms"$HEAP_MIN"m -Xmx"$HEAP"m -XX:+ExitOnOutOfMemoryError -Djava.awt.headless=true \
  "$LOGGING" -Dkafka.logs.dir=/k/logs -cp "$classes" kafka.Kafka /k/server.properties
