package kafkacheck.client;

import com.grack.nanojson.JsonArray;
import com.grack.nanojson.JsonObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.LogTruncationException;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A consumer of given partitions, or a member of a group. The library calls the listener within poll and close. */
final class ConsumerClient implements Client, ConsumerRebalanceListener {
    private static final String PACKAGE = "org.apache.kafka.clients.consumer.";
    private static final Map<String, String> ASSIGNORS = Map.of(
            "range", PACKAGE + "RangeAssignor",
            "roundrobin", PACKAGE + "RoundRobinAssignor",
            "sticky", PACKAGE + "StickyAssignor",
            "cooperative-sticky", PACKAGE + "CooperativeStickyAssignor");

    /** For the coordinator and the leaders to answer where an assigned partition begins. */
    private static final Duration START_LIMIT = Duration.ofSeconds(3);

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final boolean isMember;

    /** Null where the library does not report the ends of logs, and for members. */
    private final Ends ends;

    private List<JsonObject> events = new ArrayList<>();

    private ConsumerClient(KafkaConsumer<byte[], byte[]> consumer, boolean isMember, int batch) {
        this.consumer = consumer;
        this.isMember = isMember;
        this.ends = !isMember && Ends.ARE_REPORTED ? new Ends(consumer, batch) : null;
    }

    static ConsumerClient open(JsonObject request) {
        Map<String, Object> config = Json.config(request);
        config.computeIfPresent(
                "partition.assignment.strategy", (name, value) -> ASSIGNORS.getOrDefault(value, (String) value));
        KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        boolean isMember = request.getString("role").equals("member");
        int batch = Integer.parseInt((String) config.getOrDefault("max.poll.records", "500"));
        ConsumerClient client = new ConsumerClient(consumer, isMember, batch);
        if (isMember) {
            List<String> topics = new ArrayList<>();
            request.getArray("topics").forEach(topic -> topics.add((String) topic));
            consumer.subscribe(topics, client);
        } else {
            Map<TopicPartition, OffsetAndMetadata> start = Json.offsets(request.getArray("start"));
            consumer.assign(start.keySet());
            start.forEach((partition, offset) -> consumer.seek(partition, offset.offset()));
        }
        return client;
    }

    @Override
    public JsonObject answer(String what, JsonObject request) throws Failure {
        switch (what) {
            case "poll" -> {
                return poll(Json.timeout(request));
            }
            case "seek" -> consumer.seek(Json.partition(request), request.getLong("offset"));
            case "only" -> only(request.getArray("logs"));
            case "commit" -> {
                consumer.commitSync(Json.offsets(request.getArray("offsets")), Json.timeout(request));
                return withEvents(new JsonObject());
            }
            default -> throw Main.isRequest(what) ? Failure.wrongState("consumer") : Failure.unknown(what);
        }
        return new JsonObject();
    }

    private JsonObject poll(Duration timeout) {
        JsonObject answer = new JsonObject();
        JsonArray lost = new JsonArray();
        if (ends != null) {
            ends.begin();
        }
        ConsumerRecords<byte[], byte[]> polled = ConsumerRecords.empty();
        try {
            polled = consumer.poll(timeout);
        } catch (LogTruncationException e) {
            e.offsetOutOfRangePartitions().forEach((partition, position) -> {
                JsonObject node = lost(partition, position);
                OffsetAndMetadata divergence = e.divergentOffsets().get(partition);
                node.put("divergence", divergence == null ? null : divergence.offset());
                lost.add(node);
            });
        } catch (OffsetOutOfRangeException e) {
            e.offsetOutOfRangePartitions().forEach((partition, position) -> lost.add(lost(partition, position)));
        }
        JsonArray positions = new JsonArray();
        for (TopicPartition partition : consumer.assignment()) {
            Long position = position(partition, Duration.ZERO);
            if (position != null) {
                JsonObject node = Json.of(partition);
                node.put("offset", position);
                positions.add(node);
            }
        }
        answer.put("records", new Batches(polled, null));
        answer.put("positions", positions);
        answer.put("lost", lost);
        if (ends != null) {
            answer.put("ends", ends.after(polled.count()));
        }
        return isMember ? withEvents(answer) : answer;
    }

    private static JsonObject lost(TopicPartition partition, long position) {
        JsonObject node = Json.of(partition);
        node.put("position", position);
        return node;
    }

    private void only(JsonArray logs) {
        Set<TopicPartition> wanted = new HashSet<>();
        for (int at = 0; at < logs.size(); at++) {
            wanted.add(Json.partition(logs.getObject(at)));
        }
        Set<TopicPartition> others = new HashSet<>(consumer.assignment());
        others.removeAll(wanted);
        consumer.resume(wanted);
        consumer.pause(others);
    }

    /** Null where it is not known within the limit. */
    private Long position(TopicPartition partition, Duration limit) {
        try {
            return consumer.position(partition, limit);
        } catch (KafkaException | IllegalStateException e) {
            return null;
        }
    }

    private JsonObject withEvents(JsonObject answer) {
        answer.put("events", events);
        events = new ArrayList<>();
        answer.put("member", consumer.groupMetadata().memberId());
        answer.put("generation", consumer.groupMetadata().generationId());
        return answer;
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        partitions.forEach(each -> note("assigned", each).put("start", position(each, START_LIMIT)));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        partitions.forEach(each -> note("revoked", each));
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        partitions.forEach(each -> note("lost", each));
    }

    private JsonObject note(String event, TopicPartition partition) {
        JsonObject node = Json.of(partition);
        node.put("event", event);
        node.put("at", System.nanoTime());
        int generation = consumer.groupMetadata().generationId();
        if (generation >= 0) {
            node.put("generation", generation);
        }
        events.add(node);
        return node;
    }

    // 4.1 deprecates close(Duration), and earlier releases have no other one.
    @SuppressWarnings("deprecation")
    @Override
    public JsonObject close(Duration timeout) {
        consumer.close(timeout);
        JsonObject answer = new JsonObject();
        answer.put("events", events);
        return answer;
    }
}
