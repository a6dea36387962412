package kafkacheck.client;

import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;

/**
 * Records as the answer to a poll has them: by column, in a batch for each partition and leader epoch.
 *
 * <p>It is text from the start. JSON objects of the library would take most of the time of a poll.
 */
final class Batches {
    private static final String NONE = "null";

    private final StringBuilder json = new StringBuilder("[");

    /** deliveries: the number of deliveries of a record, of share groups; null for others. */
    Batches(
            ConsumerRecords<byte[], byte[]> polled,
            Function<ConsumerRecord<byte[], byte[]>, Optional<Short>> deliveries) {
        for (TopicPartition log : polled.partitions()) {
            List<ConsumerRecord<byte[], byte[]>> records = polled.records(log);
            for (int begin = 0, end = 0; begin < records.size(); begin = end) {
                Optional<Integer> epoch = records.get(begin).leaderEpoch();
                while (end < records.size() && records.get(end).leaderEpoch().equals(epoch)) {
                    end++;
                }
                add(log, epoch, records.subList(begin, end), deliveries);
            }
        }
        json.append(']');
    }

    @Override
    public String toString() {
        return json.toString();
    }

    private void add(
            TopicPartition log,
            Optional<Integer> epoch,
            List<ConsumerRecord<byte[], byte[]>> records,
            Function<ConsumerRecord<byte[], byte[]>, Optional<Short>> deliveries) {
        if (json.length() > 1) {
            json.append(',');
        }
        // Names of topics have no character that JSON escapes.
        json.append("{\"topic\":\"").append(log.topic()).append("\",\"partition\":").append(log.partition());
        if (epoch.isPresent()) {
            json.append(",\"epoch\":").append(epoch.get().intValue());
        }
        boolean hasKeys = false;
        boolean hasHeaders = false;
        column("offsets");
        for (ConsumerRecord<byte[], byte[]> each : records) {
            json.append(each.offset()).append(',');
            hasKeys |= each.key() != null;
            hasHeaders |= each.headers().iterator().hasNext();
        }
        end();
        column("timestamps");
        for (ConsumerRecord<byte[], byte[]> each : records) {
            json.append(each.timestamp()).append(',');
        }
        end();
        column("values");
        for (ConsumerRecord<byte[], byte[]> each : records) {
            bytes(each.value());
        }
        end();
        if (hasKeys) {
            column("keys");
            for (ConsumerRecord<byte[], byte[]> each : records) {
                bytes(each.key());
            }
            end();
        }
        if (hasHeaders) {
            column("headers");
            for (ConsumerRecord<byte[], byte[]> each : records) {
                headers(each.headers().iterator());
            }
            end();
        }
        if (deliveries != null) {
            column("deliveries");
            for (ConsumerRecord<byte[], byte[]> each : records) {
                Optional<Short> count = deliveries.apply(each);
                json.append(count.isPresent() ? count.get().toString() : NONE).append(',');
            }
            end();
        }
        json.append('}');
    }

    private void column(String name) {
        json.append(",\"").append(name).append("\":[");
    }

    /** Of a column, whose last value has a comma behind it. */
    private void end() {
        json.setCharAt(json.length() - 1, ']');
    }

    private void bytes(byte[] content) {
        if (content == null) {
            json.append(NONE).append(',');
        } else {
            json.append('"').append(Json.text(content)).append("\",");
        }
    }

    private void headers(Iterator<Header> headers) {
        json.append('[');
        while (headers.hasNext()) {
            Header each = headers.next();
            json.append('[').append(Json.quoted(each.key())).append(',');
            bytes(each.value());
            end();
            json.append(headers.hasNext() ? "," : "");
        }
        json.append("],");
    }
}
