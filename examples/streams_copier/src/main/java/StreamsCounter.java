import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/**
 * An application: counts the orders of each customer in a state store, and writes each new count. A changelog topic has
 * the counts, so that an instance that gets a partition restores them. A forgetful one has no changelog: it begins with 0.
 *
 * <p>Usage: StreamsCounter BOOTSTRAP SOURCE SINK GROUP CLIENT [forgetful]
 */
public final class StreamsCounter {
    public static void main(String[] arguments) throws Exception {
        Materialized<String, Long, KeyValueStore<Bytes, byte[]>> counts =
                Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts"))
                        .withKeySerde(Serdes.String())
                        .withValueSerde(Serdes.Long())
                        .withCachingDisabled();
        if (arguments.length > 5 && arguments[5].equals("forgetful")) {
            counts = counts.withLoggingDisabled();
        }
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(arguments[1])
                .groupByKey()
                .count(counts)
                .toStream()
                .mapValues(String::valueOf)
                .to(arguments[2]);
        Program.run(builder.build(), arguments[0], arguments[3], arguments[4]);
    }

    private StreamsCounter() {}
}
