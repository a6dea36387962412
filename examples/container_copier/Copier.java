import java.io.FileWriter;
import java.io.Writer;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * An application for a container: copies each order, at least once. It commits its positions after the brokers have
 * acknowledged the copies. It keeps a journal in the container. An error ends it, and its supervisor starts it again.
 *
 * <p>Usage: Copier BOOTSTRAP SOURCE SINK GROUP CLIENT. A variable such as CLIENT_SECURITY_PROTOCOL is the setting
 * security.protocol of its clients, unless it is empty.
 */
public final class Copier {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("group.id", arguments[3]);
        settings.put("client.id", arguments[4]);
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("session.timeout.ms", "6000");
        settings.put("heartbeat.interval.ms", "1000");
        settings.put("default.api.timeout.ms", "20000");
        settings.put("max.poll.records", "50");
        Properties sending = new Properties();
        System.getenv().forEach((variable, value) -> {
            if (variable.startsWith("CLIENT_") && !value.isEmpty()) {
                String name = variable.substring("CLIENT_".length()).toLowerCase().replace('_', '.');
                settings.put(name, value);
                sending.put(name, value);
            }
        });
        sending.put("bootstrap.servers", arguments[0]);
        sending.put("client.id", arguments[4]);
        sending.put("acks", "all");
        KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(sending, new ByteArraySerializer(), new ByteArraySerializer());
        Thread main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            consumer.wakeup(); // SIGTERM
            try {
                main.join(8000);
            } catch (InterruptedException ignored) {
                main.interrupt();
            }
        }));
        System.out.println("copies " + arguments[1] + " to " + arguments[2]);
        consumer.subscribe(List.of(arguments[1]));
        try (Writer journal = new FileWriter("/tmp/journal", true)) {
            while (true) {
                ConsumerRecords<byte[], byte[]> orders = consumer.poll(Duration.ofMillis(200));
                for (ConsumerRecord<byte[], byte[]> order : orders) {
                    producer.send(new ProducerRecord<>(arguments[2], order.key(), order.value()));
                    journal.write(new String(order.value()) + "\n");
                }
                producer.flush();
                journal.flush();
                if (!orders.isEmpty()) {
                    consumer.commitSync();
                }
            }
        } catch (WakeupException stopped) {
            System.out.println("stopped");
        } finally {
            consumer.close(Duration.ofSeconds(5));
            producer.close(Duration.ofSeconds(2));
        }
    }
}
