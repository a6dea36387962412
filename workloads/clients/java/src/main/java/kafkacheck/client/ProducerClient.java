package kafkacheck.client;

import com.grack.nanojson.JsonObject;
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
    static ProducerClient open(JsonObject request, Output output) {
        KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(Json.config(request), new ByteArraySerializer(), new ByteArraySerializer());
        try {
            if (request.getString("role").equals("transactional")) {
                producer.initTransactions();
            } else {
                request.getArray("topics").forEach(topic -> producer.partitionsFor((String) topic));
            }
            return new ProducerClient(producer, output);
        } catch (RuntimeException e) {
            producer.close(Duration.ZERO);
            throw e;
        }
    }

    void send(JsonObject record) {
        long number = record.getLong("n");
        try {
            producer.send(
                    new ProducerRecord<>(
                            record.getString("topic"),
                            record.getInt("partition"),
                            null,
                            Json.bytes(record.getString("key")),
                            Json.bytes(record.getString("value")),
                            Json.headers(record.getArray("headers"))),
                    (metadata, error) -> completed(number, metadata, error));
        } catch (RuntimeException e) {
            completed(number, null, e);
        }
    }

    /** The producer's own thread calls this for a record that it may have sent; send() itself for one that it refuses. */
    private void completed(long number, RecordMetadata metadata, Exception error) {
        if (error != null) {
            JsonObject described = Failure.of(error);
            if (Thread.currentThread() == main) {
                described.put("sent", false);
            }
            output.complete(number, described);
        } else {
            output.complete(number, metadata.hasOffset() ? (Long) metadata.offset() : null);
        }
    }

    @Override
    public JsonObject answer(String what, JsonObject request) throws Failure {
        switch (what) {
            case "begin" -> producer.beginTransaction();
            case "add-offsets" -> addOffsets(request);
            case "end" -> end(request);
            default -> throw Main.isRequest(what) ? Failure.wrongState("producer") : Failure.unknown(what);
        }
        return new JsonObject();
    }

    // 4.3 deprecates this constructor, and earlier releases have no other one.
    @SuppressWarnings("removal")
    private void addOffsets(JsonObject request) {
        JsonObject membership = request.getObject("membership");
        producer.sendOffsetsToTransaction(
                Json.offsets(request.getArray("offsets")),
                new ConsumerGroupMetadata(
                        membership.getString("group"),
                        membership.getInt("generation"),
                        membership.getString("member"),
                        Optional.ofNullable(membership.getString("instance"))));
    }

    private void end(JsonObject request) throws Failure {
        long deadline = System.nanoTime() + Json.timeout(request).toNanos();
        boolean isCommit = request.getString("outcome").equals("commit");
        try {
            repeat(isCommit ? producer::commitTransaction : producer::abortTransaction, deadline);
        } catch (KafkaException e) {
            JsonObject error = Failure.of(e);
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
    public JsonObject close(Duration timeout) {
        producer.close(timeout);
        return new JsonObject();
    }
}
