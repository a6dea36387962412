package kafkacheck.client;

import com.grack.nanojson.JsonObject;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.InvalidPidMappingException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.UnknownProducerIdException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A producer, transactional or not. */
final class ProducerClient implements Client {
    /**
     * Errors that send() raises before it puts a record into a batch, in each release: no metadata or no memory within
     * max.block.ms, too large, a topic that does not exist for this user. Any other one may come after that.
     */
    private static final List<Class<? extends Exception>> BEFORE_BATCHING = List.of(
            TimeoutException.class,
            RecordTooLargeException.class,
            SerializationException.class,
            InvalidTopicException.class,
            TopicAuthorizationException.class,
            AuthenticationException.class);

    /**
     * After these, an abort does not prove that the commit never takes effect. The coordinator gives them when it has
     * forgotten the id, such as after a loss of its log, and the commit may have been complete before. Up to 3.7, the
     * library then ignores that the abort is refused, and claims the id again.
     */
    private static final List<Class<? extends Exception>> ID_IS_UNKNOWN =
            List.of(InvalidPidMappingException.class, UnknownProducerIdException.class);

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
        Completion completion = new Completion(record.getLong("n"));
        try {
            producer.send(
                    new ProducerRecord<>(
                            record.getString("topic"),
                            record.getInt("partition"),
                            null,
                            Json.bytes(record.getString("key")),
                            Json.bytes(record.getString("value")),
                            Json.headers(record.getArray("headers"))),
                    completion);
        } catch (RuntimeException e) {
            completion.refused(e);
        }
    }

    /**
     * How one record ends: the first report counts. From 3.2 on, send() may put a record into a batch, then fail because
     * an earlier one has failed, and the producer's own thread reports the same record again.
     */
    private final class Completion implements Callback {
        private final long number;
        private final AtomicBoolean isReported = new AtomicBoolean();

        Completion(long number) {
            this.number = number;
        }

        /** Within send() for an error of the API, otherwise on the producer's own thread. */
        @Override
        public void onCompletion(RecordMetadata metadata, Exception error) {
            if (error == null) {
                if (isReported.compareAndSet(false, true)) {
                    output.complete(number, metadata.hasOffset() ? (Long) metadata.offset() : null);
                }
            } else if (Thread.currentThread() == main) {
                refused(error);
            } else {
                failed(Failure.of(error));
            }
        }

        /** send() refuses the record. */
        void refused(Exception error) {
            JsonObject described = Failure.of(error);
            if (BEFORE_BATCHING.stream().anyMatch(each -> each.isInstance(error))) {
                described.put("sent", false);
            }
            failed(described);
        }

        private void failed(JsonObject error) {
            if (isReported.compareAndSet(false, true)) {
                output.complete(number, error);
            }
        }
    }

    @Override
    public JsonObject answer(String what, JsonObject request) throws Failure {
        switch (what) {
            case "flush" -> producer.flush();
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
                boolean isAborted = aborts(deadline);
                error.put("aborted", isAborted && !isCausedBy(e, ID_IS_UNKNOWN));
            }
            throw new Failure(error);
        }
    }

    private static boolean isCausedBy(Throwable error, List<Class<? extends Exception>> classes) {
        for (Throwable each = error; each != null; each = each.getCause()) {
            Throwable cause = each;
            if (classes.stream().anyMatch(one -> one.isInstance(cause))) {
                return true;
            }
        }
        return false;
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
