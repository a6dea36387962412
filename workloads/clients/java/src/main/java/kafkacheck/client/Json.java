package kafkacheck.client;

import com.grack.nanojson.JsonArray;
import com.grack.nanojson.JsonObject;
import com.grack.nanojson.JsonWriter;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/** Kafka's values as the protocol has them. Maps are JSON objects, and lists are arrays. */
final class Json {
    /**
     * What only reports metrics, by JMX and to brokers. It takes processor time when a client starts, and nobody reads it.
     * The library warns of a setting that its release does not have.
     */
    private static final Map<String, String> WITHOUT_REPORTS =
            Map.of("metric.reporters", "", "auto.include.jmx.reporter", "false", "enable.metrics.push", "false");

    private Json() {}

    static Map<String, Object> config(JsonObject request) {
        Map<String, Object> config = new HashMap<>(request.getObject("config", new JsonObject()));
        WITHOUT_REPORTS.forEach((name, value) -> {
            if (ConsumerConfig.configNames().contains(name)) {
                config.putIfAbsent(name, value);
            }
        });
        return config;
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

    static String quoted(String text) {
        return JsonWriter.string(text);
    }
}
