package kafkacheck.client;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.SharePartitionOffsetInfo;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A consumer of a share group (KIP-932), which acknowledges each record by itself. */
final class ShareClient implements Client {
    private static final String GROUP_LIMIT = "share.delivery.count.limit";
    private static final String BROKER_LIMIT = "group.share.delivery.count.limit";

    private final Map<String, Object> config;
    private final String group;
    private final KafkaShareConsumer<byte[], byte[]> consumer;

    /** Of the last poll, by partition and offset: each of them has to be acknowledged before the next poll. */
    private final Map<TopicPartition, Map<Long, ConsumerRecord<byte[], byte[]>>> held = new HashMap<>();

    /** For what only an administrator can ask; made when it is needed. */
    private Admin admin;

    private ShareClient(Map<String, Object> config) {
        this.config = config;
        this.group = String.valueOf(config.get("group.id"));
        this.consumer = new KafkaShareConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    static ShareClient open(JsonNode request) throws Failure {
        Map<String, Object> config = Json.config(request);
        config.put("share.acknowledgement.mode", "explicit");
        ShareClient client = new ShareClient(config);
        try {
            client.setGroupConfig(request.path("group_config"), Json.timeout(request));
            List<String> topics = new ArrayList<>();
            request.path("topics").forEach(topic -> topics.add(topic.asText()));
            client.consumer.subscribe(topics);
            return client;
        } catch (RuntimeException | Failure e) {
            client.close(Duration.ZERO);
            throw e;
        }
    }

    private void setGroupConfig(JsonNode settings, Duration timeout) throws Failure {
        List<AlterConfigOp> changes = new ArrayList<>();
        settings.properties().forEach(each -> changes.add(new AlterConfigOp(
                new ConfigEntry(each.getKey(), each.getValue().asText()), AlterConfigOp.OpType.SET)));
        if (!changes.isEmpty()) {
            try {
                await(admin().incrementalAlterConfigs(Map.of(groupResource(), changes)).all(), timeout);
            } catch (InvalidConfigurationException e) {
                throw new ConfigException(e.getMessage());
            }
        }
    }

    private ConfigResource groupResource() {
        return new ConfigResource(ConfigResource.Type.GROUP, group);
    }

    @Override
    public ObjectNode answer(String what, JsonNode request) throws Failure {
        return switch (what) {
            case "poll" -> poll(Json.timeout(request));
            case "acknowledge" -> acknowledge(request.path("records"));
            case "commit" -> commit(Json.timeout(request));
            case "progress" -> progress(Json.timeout(request));
            case "seek", "only", "begin", "add-offsets", "end" ->
                throw new Failure("INVALID_STATE", "the client is a consumer of a share group");
            default -> throw Failure.unknown(what);
        };
    }

    private ObjectNode poll(Duration timeout) {
        ConsumerRecords<byte[], byte[]> polled = consumer.poll(timeout);
        held.clear();
        ObjectNode answer = Json.object();
        ArrayNode records = answer.putArray("records");
        for (ConsumerRecord<byte[], byte[]> each : polled) {
            held.computeIfAbsent(new TopicPartition(each.topic(), each.partition()), log -> new HashMap<>())
                    .put(each.offset(), each);
            ObjectNode node = Json.put(records.addObject(), each);
            each.deliveryCount().ifPresent(count -> node.put("deliveries", count.intValue()));
        }
        consumer.acquisitionLockTimeoutMs().ifPresent(lock -> answer.put("lock_ms", lock));
        return answer;
    }

    /** All of them or, where one is refused, none. */
    private ObjectNode acknowledge(JsonNode records) throws Failure {
        Map<ConsumerRecord<byte[], byte[]>, AcknowledgeType> known = new HashMap<>();
        for (JsonNode each : records) {
            TopicPartition log = Json.partition(each);
            ConsumerRecord<byte[], byte[]> record = held.getOrDefault(log, Map.of()).get(each.path("offset").asLong());
            if (record == null) {
                throw new Failure("INVALID_STATE", log + " at " + each.path("offset") + " is not of the last poll");
            }
            known.put(record, type(each.path("type").asText()));
        }
        known.forEach(consumer::acknowledge);
        return Json.object();
    }

    private static AcknowledgeType type(String name) throws Failure {
        if (!List.of("accept", "release", "reject").contains(name)) {
            throw new Failure("INVALID_REQUEST", "unknown type " + name);
        }
        return AcknowledgeType.valueOf(name.toUpperCase(Locale.ROOT));
    }

    private ObjectNode commit(Duration timeout) {
        ObjectNode answer = Json.object();
        ArrayNode nodes = answer.putArray("partitions");
        for (Map.Entry<TopicIdPartition, Optional<KafkaException>> each : consumer.commitSync(timeout).entrySet()) {
            ObjectNode node = Json.of(each.getKey().topicPartition());
            each.getValue().ifPresent(error -> node.set("error", Failure.of(error)));
            nodes.add(node);
        }
        return answer;
    }

    /** How far the group has got, as its coordinator reports it. */
    private ObjectNode progress(Duration timeout) throws Failure {
        Map<TopicPartition, SharePartitionOffsetInfo> found = await(
                admin().listShareGroupOffsets(Map.of(group, new ListShareGroupOffsetsSpec()))
                        .partitionsToOffsetInfo(group),
                timeout);
        ObjectNode answer = Json.object();
        ArrayNode nodes = answer.putArray("partitions");
        found.forEach((log, info) -> {
            if (info != null) {
                ObjectNode node = Json.of(log).put("start", info.startOffset());
                info.lag().ifPresent(lag -> node.put("lag", lag));
                nodes.add(node);
            }
        });
        String limit = limit(timeout);
        return limit == null ? answer : answer.put("delivery_limit", Integer.parseInt(limit));
    }

    /** Brokers before 4.3 have no limit of a group: that of the brokers holds. */
    private String limit(Duration timeout) throws Failure {
        String own = setting(groupResource(), GROUP_LIMIT, timeout);
        if (own != null) {
            return own;
        }
        int node = await(admin().describeCluster().nodes(), timeout).iterator().next().id();
        ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, String.valueOf(node));
        return setting(broker, BROKER_LIMIT, timeout);
    }

    private String setting(ConfigResource of, String name, Duration timeout) throws Failure {
        Config all = await(admin().describeConfigs(List.of(of)).all(), timeout).get(of);
        ConfigEntry entry = all == null ? null : all.get(name);
        return entry == null ? null : entry.value();
    }

    private Admin admin() {
        if (admin == null) {
            admin = Admin.create(config);
        }
        return admin;
    }

    private static <T> T await(KafkaFuture<T> future, Duration timeout) throws Failure {
        try {
            return future.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof RuntimeException cause ? cause : new KafkaException(e.getCause());
        } catch (TimeoutException e) {
            throw new Failure(Failure.of("REQUEST_TIMED_OUT", "no answer within " + timeout).put("retriable", true));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Failure("INTERRUPTED", "interrupted");
        }
    }

    @Override
    public ObjectNode close(Duration timeout) {
        try {
            consumer.close(timeout);
        } finally {
            if (admin != null) {
                admin.close(timeout);
            }
        }
        return Json.object();
    }
}
