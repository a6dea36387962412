package kafkacheck.client;

import com.grack.nanojson.JsonArray;
import com.grack.nanojson.JsonObject;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/**
 * The ends of logs as brokers reported them in responses to fetches, and a time before the fetch was sent.
 *
 * <p>The library tells the lag behind the last response, and how many responses there have been. It has at most one
 * fetch under way to a broker. So of two responses that came after a moment, the second one answers a fetch that was
 * sent after it. A consumer of several partitions may ask several brokers: then nothing is reported.
 */
final class Ends {
    /** KafkaConsumer.currentLag is there since 3.0. */
    static final boolean ARE_REPORTED = hasLag();

    private static final int RESPONSES = 2;

    /** A moment, and the number of responses until then. */
    private record Sample(long at, double responses) {}

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final int batch;
    private final Deque<Sample> samples = new ArrayDeque<>();
    private Metric responses;

    /** batch: records that a poll returns at most. One that returns as many may have left responses in its buffer. */
    Ends(KafkaConsumer<byte[], byte[]> consumer, int batch) {
        this.consumer = consumer;
        this.batch = batch;
    }

    /** Before each poll. */
    void begin() {
        samples.addLast(new Sample(System.nanoTime(), total()));
    }

    /** After a poll that returned `count` records. */
    JsonArray after(int count) {
        JsonArray ends = new JsonArray();
        double before = samples.getLast().responses();
        // The responses that had arrived when the poll began are those that it has looked at.
        Sample asked = null;
        while (!samples.isEmpty() && samples.getFirst().responses() + RESPONSES <= before) {
            asked = samples.removeFirst();
        }
        if (asked != null) {
            samples.addFirst(asked);
        }
        if (asked == null || count >= batch) {
            return ends;
        }
        TopicPartition only = null;
        for (TopicPartition each : consumer.assignment()) {
            if (!consumer.paused().contains(each)) {
                if (only != null) {
                    return ends;
                }
                only = each;
            }
        }
        OptionalLong lag = only == null ? OptionalLong.empty() : consumer.currentLag(only);
        if (lag.isPresent()) {
            Integer node = servedBy(only);
            if (node != null) {
                JsonObject end = Json.of(only);
                end.put("offset", consumer.position(only) + lag.getAsLong());
                end.put("node", node);
                end.put("asked", asked.at());
                ends.add(end);
            }
        }
        return ends;
    }

    /** The replica that the leader chose for this consumer, or the leader; null if neither is known. */
    private Integer servedBy(TopicPartition partition) {
        for (Map.Entry<MetricName, ? extends Metric> each : consumer.metrics().entrySet()) {
            Map<String, String> tags = each.getKey().tags();
            if (each.getKey().name().equals("preferred-read-replica")
                    && String.valueOf(partition.partition()).equals(tags.get("partition"))) {
                int node = ((Number) each.getValue().metricValue()).intValue();
                if (node >= 0) {
                    return node;
                }
            }
        }
        for (PartitionInfo each : consumer.partitionsFor(partition.topic())) {
            if (each.partition() == partition.partition() && each.leader() != null) {
                return each.leader().id();
            }
        }
        return null;
    }

    private double total() {
        if (responses == null) {
            consumer.metrics().forEach((name, metric) -> {
                if (name.name().equals("fetch-total") && !name.tags().containsKey("topic")) {
                    responses = metric;
                }
            });
        }
        return responses == null ? 0 : ((Number) responses.metricValue()).doubleValue();
    }

    private static boolean hasLag() {
        try {
            KafkaConsumer.class.getMethod("currentLag", TopicPartition.class);
            return true;
        } catch (NoSuchMethodException e) {
            return false;
        }
    }
}
