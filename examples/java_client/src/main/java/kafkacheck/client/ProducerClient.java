package kafkacheck.client;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A producer, transactional or not. */
final class ProducerClient implements Client {
    private final KafkaProducer<byte[], byte[]> producer;
    private final Output output;
    private final Thread main = Thread.currentThread();

    private ProducerClient(KafkaProducer<byte[], byte[]> producer, Output output) {
        this.producer = producer;
        this.output = output;
    }

    /** Throws what the library throws when no broker answers within max.block.ms. */
    static ProducerClient open(JsonNode request, Output output) {
        KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(Json.config(request), new ByteArraySerializer(), new ByteArraySerializer());
        try {
            if (request.get("role").asText().equals("transactional")) {
                producer.initTransactions();
            } else {
                request.path("topics").forEach(topic -> producer.partitionsFor(topic.asText()));
            }
            return new ProducerClient(producer, output);
        } catch (RuntimeException e) {
            producer.close(Duration.ZERO);
            throw e;
        }
    }

    void send(JsonNode record) {
        long number = record.get("n").asLong();
        try {
            producer.send(
                    new ProducerRecord<>(
                            record.get("topic").asText(),
                            record.get("partition").asInt(),
                            null,
                            Json.bytes(record.get("key")),
                            Json.bytes(record.get("value")),
                            Json.headers(record.path("headers"))),
                    (metadata, error) -> completed(number, metadata, error));
        } catch (RuntimeException e) {
            completed(number, null, e);
        }
    }

    /** The producer's own thread calls this for a record that it may have sent; send() itself for one that it refuses. */
    private void completed(long number, RecordMetadata metadata, Exception error) {
        ObjectNode completion = Json.object().put("n", number);
        if (error != null) {
            ObjectNode described = Failure.of(error);
            if (Thread.currentThread() == main) {
                described.put("sent", false);
            }
            completion.set("error", described);
        } else if (metadata.hasOffset()) {
            completion.put("offset", metadata.offset());
        }
        output.complete(completion);
    }

    @Override
    public ObjectNode answer(String what, JsonNode request) throws Failure {
        switch (what) {
            case "begin" -> producer.beginTransaction();
            case "add-offsets" -> addOffsets(request);
            case "end" -> end(request);
            case "poll", "seek", "only", "commit", "acknowledge", "progress" ->
                throw new Failure("INVALID_STATE", "the client is a producer");
            default -> throw Failure.unknown(what);
        }
        return Json.object();
    }

    // 4.3 deprecates this constructor, and earlier releases have no other one.
    @SuppressWarnings("removal")
    private void addOffsets(JsonNode request) {
        JsonNode membership = request.get("membership");
        JsonNode instance = membership.path("instance");
        producer.sendOffsetsToTransaction(
                Json.offsets(request.get("offsets")),
                new ConsumerGroupMetadata(
                        membership.get("group").asText(),
                        membership.get("generation").asInt(),
                        membership.get("member").asText(),
                        instance.isTextual() ? Optional.of(instance.asText()) : Optional.empty()));
    }

    private void end(JsonNode request) throws Failure {
        long deadline = System.nanoTime() + Json.timeout(request).toNanos();
        boolean isCommit = request.get("outcome").asText().equals("commit");
        try {
            repeat(isCommit ? producer::commitTransaction : producer::abortTransaction, deadline);
        } catch (KafkaException e) {
            ObjectNode error = Failure.of(e);
            if (isCommit && !(e instanceof TimeoutException)) {
                error.put("aborted", aborts(deadline));
            }
            throw new Failure(error);
        }
    }

    /** Whether the coordinator acknowledges the abort, which proves that the commit never takes effect. */
    private boolean aborts(long deadline) {
        try {
            repeat(producer::abortTransaction, deadline);
            return true;
        } catch (KafkaException e) {
            return false;
        }
    }

    /** The library allows the same request again after its own limit, max.block.ms. */
    private static void repeat(Runnable request, long deadline) {
        while (true) {
            try {
                request.run();
                return;
            } catch (TimeoutException e) {
                if (System.nanoTime() - deadline > 0) {
                    throw e;
                }
            }
        }
    }

    @Override
    public ObjectNode close(Duration timeout) {
        producer.close(timeout);
        return Json.object();
    }
}
