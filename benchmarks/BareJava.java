import java.io.FileInputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The Java client without kafkacheck, for recording.py: java BareJava.java WAY SETTINGS TOPIC PARTITIONS RECORDS SIZE. It
 * prints seconds: of all sends or reads, or the median of one send at a time.
 */
public final class BareJava {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        try (FileInputStream file = new FileInputStream(arguments[1])) {
            settings.load(file);
        }
        String topic = arguments[2];
        int partitions = Integer.parseInt(arguments[3]);
        int records = Integer.parseInt(arguments[4]);
        byte[] value = new byte[Integer.parseInt(arguments[5])];
        System.out.println(
                switch (arguments[0]) {
                    case "sends" -> sends(settings, topic, partitions, records, value);
                    case "latency" -> latency(settings, topic, partitions, records, value);
                    default -> reads(settings, topic, partitions, records);
                });
        System.exit(0);
    }

    private static double sends(Properties settings, String topic, int partitions, int records, byte[] value) {
        KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        producer.partitionsFor(topic);
        long begun = System.nanoTime();
        for (int number = 0; number < records; number++) {
            producer.send(new ProducerRecord<>(topic, number % partitions, null, value));
        }
        producer.flush();
        return (System.nanoTime() - begun) / 1e9;
    }

    private static double latency(Properties settings, String topic, int partitions, int records, byte[] value)
            throws Exception {
        KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        List<Double> taken = new ArrayList<>();
        for (int number = 0; number < records; number++) {
            long begun = System.nanoTime();
            producer.send(new ProducerRecord<>(topic, number % partitions, null, value)).get();
            taken.add((System.nanoTime() - begun) / 1e9);
        }
        Collections.sort(taken);
        return taken.get(records / 2);
    }

    private static double reads(Properties settings, String topic, int partitions, int records) {
        KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        List<TopicPartition> logs = new ArrayList<>();
        for (int number = 0; number < partitions; number++) {
            logs.add(new TopicPartition(topic, number));
        }
        consumer.assign(logs);
        consumer.seekToBeginning(logs);
        long begun = System.nanoTime();
        int found = 0;
        while (found < records) {
            found += consumer.poll(Duration.ofMillis(200)).count();
        }
        return (System.nanoTime() - begun) / 1e9;
    }
}
