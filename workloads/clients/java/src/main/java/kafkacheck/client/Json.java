package kafkacheck.client;

import com.grack.nanojson.JsonArray;
import com.grack.nanojson.JsonObject;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/** Kafka's values as the protocol has them. Maps are JSON objects, and lists are arrays. */
final class Json {
    private Json() {}

    static Map<String, Object> config(JsonObject request) {
        return new HashMap<>(request.getObject("config", new JsonObject()));
    }

    static Duration timeout(JsonObject request) {
        return Duration.ofMillis(request.getLong("timeout_ms"));
    }

    static TopicPartition partition(JsonObject node) {
        return new TopicPartition(node.getString("topic"), node.getInt("partition"));
    }

    static JsonObject of(TopicPartition partition) {
        JsonObject node = new JsonObject();
        node.put("topic", partition.topic());
        node.put("partition", partition.partition());
        return node;
    }

    static Map<TopicPartition, OffsetAndMetadata> offsets(JsonArray nodes) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (int at = 0; at < nodes.size(); at++) {
            JsonObject node = nodes.getObject(at);
            offsets.put(partition(node), new OffsetAndMetadata(node.getLong("offset")));
        }
        return offsets;
    }

    static byte[] bytes(String text) {
        return text == null ? null : Base64.getDecoder().decode(text);
    }

    static String text(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }

    /** Null without headers. */
    static Headers headers(JsonArray nodes) {
        if (nodes == null) {
            return null;
        }
        Headers headers = new RecordHeaders();
        for (int at = 0; at < nodes.size(); at++) {
            JsonArray header = nodes.getArray(at);
            headers.add(header.getString(0), bytes(header.getString(1)));
        }
        return headers;
    }

    static JsonArray records(ConsumerRecords<byte[], byte[]> records) {
        JsonArray nodes = new JsonArray(records.count());
        records.forEach(each -> nodes.add(of(each)));
        return nodes;
    }

    static JsonObject of(ConsumerRecord<byte[], byte[]> record) {
        JsonObject node = new JsonObject();
        node.put("topic", record.topic());
        node.put("partition", record.partition());
        node.put("offset", record.offset());
        node.put("epoch", record.leaderEpoch().orElse(null));
        node.put("timestamp", record.timestamp());
        if (record.key() != null) {
            node.put("key", text(record.key()));
        }
        node.put("value", text(record.value()));
        JsonArray headers = new JsonArray();
        for (Header each : record.headers()) {
            headers.add(JsonArray.from(each.key(), text(each.value())));
        }
        if (!headers.isEmpty()) {
            node.put("headers", headers);
        }
        return node;
    }
}
