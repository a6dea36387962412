package kafkacheck.client;

import com.grack.nanojson.JsonArray;
import com.grack.nanojson.JsonObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
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

    static ShareClient open(JsonObject request) throws Failure {
        Map<String, Object> config = Json.config(request);
        config.put("share.acknowledgement.mode", "explicit");
        ShareClient client = new ShareClient(config);
        try {
            client.setGroupConfig(request.getObject("group_config", new JsonObject()), Json.timeout(request));
            List<String> topics = new ArrayList<>();
            request.getArray("topics").forEach(topic -> topics.add((String) topic));
            client.consumer.subscribe(topics);
            return client;
        } catch (RuntimeException | Failure e) {
            client.close(Duration.ZERO);
            throw e;
        }
    }

    private void setGroupConfig(JsonObject settings, Duration timeout) throws Failure {
        List<AlterConfigOp> changes = new ArrayList<>();
        settings.forEach((name, value) ->
                changes.add(new AlterConfigOp(new ConfigEntry(name, (String) value), AlterConfigOp.OpType.SET)));
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
    public JsonObject answer(String what, JsonObject request) throws Failure {
        return switch (what) {
            case "poll" -> poll(Json.timeout(request));
            case "acknowledge" -> acknowledge(request.getArray("records", new JsonArray()));
            case "commit" -> commit(Json.timeout(request));
            case "progress" -> progress(Json.timeout(request));
            default -> throw Main.isRequest(what)
                    ? Failure.wrongState("consumer of a share group")
                    : Failure.unknown(what);
        };
    }

    private JsonObject poll(Duration timeout) {
        ConsumerRecords<byte[], byte[]> polled = consumer.poll(timeout);
        held.clear();
        for (ConsumerRecord<byte[], byte[]> each : polled) {
            held.computeIfAbsent(new TopicPartition(each.topic(), each.partition()), log -> new HashMap<>())
                    .put(each.offset(), each);
        }
        JsonObject answer = new JsonObject();
        answer.put("records", new Batches(polled, ConsumerRecord::deliveryCount));
        consumer.acquisitionLockTimeoutMs().ifPresent(lock -> answer.put("lock_ms", lock));
        return answer;
    }

    /** All of them or, where one is refused, none. */
    private JsonObject acknowledge(JsonArray records) throws Failure {
        Map<ConsumerRecord<byte[], byte[]>, AcknowledgeType> known = new HashMap<>();
        for (int at = 0; at < records.size(); at++) {
            JsonObject each = records.getObject(at);
            TopicPartition log = Json.partition(each);
            long offset = each.getLong("offset", -1);
            ConsumerRecord<byte[], byte[]> record = held.getOrDefault(log, Map.of()).get(offset);
            if (record == null) {
                throw new Failure("INVALID_STATE", log + " at " + offset + " is not of the last poll");
            }
            known.put(record, type(each.getString("type", "")));
        }
        known.forEach(consumer::acknowledge);
        return new JsonObject();
    }

    private static AcknowledgeType type(String name) throws Failure {
        if (!List.of("accept", "release", "reject").contains(name)) {
            throw new Failure("INVALID_REQUEST", "unknown type " + name);
        }
        return AcknowledgeType.valueOf(name.toUpperCase(Locale.ROOT));
    }

    private JsonObject commit(Duration timeout) {
        JsonArray nodes = new JsonArray();
        consumer.commitSync(timeout).forEach((partition, failed) -> {
            JsonObject node = Json.of(partition.topicPartition());
            failed.ifPresent(error -> node.put("error", Failure.of(error)));
            nodes.add(node);
        });
        return partitions(nodes);
    }

    private static JsonObject partitions(JsonArray nodes) {
        JsonObject answer = new JsonObject();
        answer.put("partitions", nodes);
        return answer;
    }

    /** How far the group has got, as its coordinator reports it. */
    private JsonObject progress(Duration timeout) throws Failure {
        Map<TopicPartition, SharePartitionOffsetInfo> found = await(
                admin().listShareGroupOffsets(Map.of(group, new ListShareGroupOffsetsSpec()))
                        .partitionsToOffsetInfo(group),
                timeout);
        JsonArray nodes = new JsonArray();
        found.forEach((log, info) -> {
            if (info != null) {
                JsonObject node = Json.of(log);
                node.put("start", info.startOffset());
                info.lag().ifPresent(lag -> node.put("lag", lag));
                nodes.add(node);
            }
        });
        JsonObject answer = partitions(nodes);
        String limit = limit(timeout);
        if (limit != null) {
            answer.put("delivery_limit", Integer.parseInt(limit));
        }
        return answer;
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
            JsonObject error = Failure.of("REQUEST_TIMED_OUT", "no answer within " + timeout);
            error.put("retriable", true);
            throw new Failure(error);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Failure("INTERRUPTED", "interrupted");
        }
    }

    @Override
    public JsonObject close(Duration timeout) {
        try {
            consumer.close(timeout);
        } finally {
            if (admin != null) {
                admin.close(timeout);
            }
        }
        return new JsonObject();
    }
}
