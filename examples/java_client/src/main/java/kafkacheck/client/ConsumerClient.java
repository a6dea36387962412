package kafkacheck.client;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.LogTruncationException;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A consumer of given partitions, or a member of a group. The library calls the listener within poll and close. */
final class ConsumerClient implements Client, ConsumerRebalanceListener {
    private static final String ASSIGNOR = "partition.assignment.strategy";
    private static final Map<String, Class<?>> ASSIGNORS = Map.of(
            "range", RangeAssignor.class,
            "roundrobin", RoundRobinAssignor.class,
            "sticky", StickyAssignor.class,
            "cooperative-sticky", CooperativeStickyAssignor.class);

    /** For the coordinator and the leaders to answer where an assigned partition begins. */
    private static final Duration START_LIMIT = Duration.ofSeconds(3);

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final boolean isMember;
    private List<ObjectNode> events = new ArrayList<>();

    private ConsumerClient(KafkaConsumer<byte[], byte[]> consumer, boolean isMember) {
        this.consumer = consumer;
        this.isMember = isMember;
    }

    static ConsumerClient open(JsonNode request) {
        Map<String, Object> config = Json.config(request);
        config.computeIfPresent(ASSIGNOR, (name, value) -> ASSIGNORS.containsKey(value) ? ASSIGNORS.get(value).getName() : value);
        KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        boolean isMember = request.get("role").asText().equals("member");
        ConsumerClient client = new ConsumerClient(consumer, isMember);
        if (isMember) {
            List<String> topics = new ArrayList<>();
            request.get("topics").forEach(topic -> topics.add(topic.asText()));
            consumer.subscribe(topics, client);
        } else {
            Map<TopicPartition, OffsetAndMetadata> start = Json.offsets(request.get("start"));
            consumer.assign(start.keySet());
            start.forEach((partition, offset) -> consumer.seek(partition, offset.offset()));
        }
        return client;
    }

    @Override
    public ObjectNode answer(String what, JsonNode request) throws Failure {
        return switch (what) {
            case "poll" -> poll(Json.timeout(request));
            case "seek" -> {
                consumer.seek(Json.partition(request), request.get("offset").asLong());
                yield Json.object();
            }
            case "only" -> only(request.get("logs"));
            case "commit" -> {
                consumer.commitSync(Json.offsets(request.get("offsets")), Json.timeout(request));
                yield withEvents(Json.object());
            }
            case "begin", "add-offsets", "end", "acknowledge", "progress" -> throw new Failure("INVALID_STATE", "the client is a consumer");
            default -> throw Failure.unknown(what);
        };
    }

    private ObjectNode poll(Duration timeout) {
        ObjectNode answer = Json.object();
        ArrayNode records = answer.putArray("records");
        ArrayNode lost = answer.putArray("lost");
        try {
            put(records, consumer.poll(timeout));
        } catch (LogTruncationException e) {
            e.offsetOutOfRangePartitions().forEach((partition, position) -> {
                OffsetAndMetadata divergence = e.divergentOffsets().get(partition);
                lost.add(Json.of(partition)
                        .put("position", position)
                        .put("divergence", divergence == null ? null : divergence.offset()));
            });
        } catch (OffsetOutOfRangeException e) {
            e.offsetOutOfRangePartitions().forEach((partition, position) ->
                    lost.add(Json.of(partition).put("position", position)));
        }
        ArrayNode positions = answer.putArray("positions");
        for (TopicPartition partition : consumer.assignment()) {
            Long position = position(partition, Duration.ZERO);
            if (position != null) {
                positions.add(Json.of(partition).put("offset", position));
            }
        }
        return isMember ? withEvents(answer) : answer;
    }

    private static void put(ArrayNode nodes, ConsumerRecords<byte[], byte[]> records) {
        for (ConsumerRecord<byte[], byte[]> each : records) {
            Json.put(nodes.addObject(), each);
        }
    }

    private ObjectNode only(JsonNode logs) {
        Set<TopicPartition> wanted = new java.util.HashSet<>();
        logs.forEach(each -> wanted.add(Json.partition(each)));
        consumer.resume(wanted);
        consumer.pause(consumer.assignment().stream().filter(each -> !wanted.contains(each)).collect(Collectors.toSet()));
        return Json.object();
    }

    /** Null where it is not known within the limit. */
    private Long position(TopicPartition partition, Duration limit) {
        try {
            return consumer.position(partition, limit);
        } catch (KafkaException | IllegalStateException e) {
            return null;
        }
    }

    private ObjectNode withEvents(ObjectNode answer) {
        ArrayNode nodes = answer.putArray("events");
        events.forEach(nodes::add);
        events = new ArrayList<>();
        return answer.put("member", consumer.groupMetadata().memberId())
                .put("generation", consumer.groupMetadata().generationId());
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

    private ObjectNode note(String event, TopicPartition partition) {
        ObjectNode node = Json.of(partition).put("event", event).put("at", System.nanoTime());
        int generation = consumer.groupMetadata().generationId();
        if (generation >= 0) {
            node.put("generation", generation);
        }
        events.add(node);
        return node;
    }

    @Override
    public ObjectNode close(Duration timeout) {
        consumer.close(CloseOptions.timeout(timeout));
        ObjectNode answer = Json.object();
        events.forEach(answer.putArray("events")::add);
        return answer;
    }
}
