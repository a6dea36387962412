package kafkacheck.client;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/** Kafka's values as the protocol has them. */
final class Json {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private Json() {}

    static ObjectNode object() {
        return MAPPER.createObjectNode();
    }

    static JsonNode parse(String line) throws JsonProcessingException {
        return MAPPER.readTree(line);
    }

    static Map<String, Object> config(JsonNode request) {
        Map<String, Object> config = new HashMap<>();
        request.path("config").properties().forEach(each -> config.put(each.getKey(), each.getValue().asText()));
        return config;
    }

    static Duration timeout(JsonNode request) {
        return Duration.ofMillis(request.path("timeout_ms").asLong());
    }

    static TopicPartition partition(JsonNode node) {
        return new TopicPartition(node.get("topic").asText(), node.get("partition").asInt());
    }

    static ObjectNode of(TopicPartition partition) {
        return object().put("topic", partition.topic()).put("partition", partition.partition());
    }

    static Map<TopicPartition, OffsetAndMetadata> offsets(JsonNode nodes) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        nodes.forEach(each -> offsets.put(partition(each), new OffsetAndMetadata(each.get("offset").asLong())));
        return offsets;
    }

    static byte[] bytes(JsonNode node) {
        return node == null || node.isNull() || node.isMissingNode() ? null : Base64.getDecoder().decode(node.asText());
    }

    static String text(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }

    static Headers headers(JsonNode nodes) {
        Headers headers = new RecordHeaders();
        nodes.forEach(each -> headers.add(each.get(0).asText(), bytes(each.get(1))));
        return headers;
    }

    /** The fields of a record that a poll returned. */
    static ObjectNode put(ObjectNode node, ConsumerRecord<byte[], byte[]> record) {
        node.put("topic", record.topic())
                .put("partition", record.partition())
                .put("offset", record.offset())
                .put("epoch", record.leaderEpoch().orElse(null))
                .put("timestamp", record.timestamp())
                .put("key", text(record.key()))
                .put("value", text(record.value()));
        put(node.putArray("headers"), record.headers());
        return node;
    }

    static void put(ArrayNode nodes, Headers headers) {
        for (Header each : headers) {
            nodes.addArray().add(each.key()).add(text(each.value()));
        }
    }
}
