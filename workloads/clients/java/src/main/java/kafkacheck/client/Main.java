package kafkacheck.client;

import com.grack.nanojson.JsonArray;
import com.grack.nanojson.JsonObject;
import com.grack.nanojson.JsonParser;
import com.grack.nanojson.JsonParserException;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.config.ConfigException;

/**
 * A client of Apache Kafka's Java library, which kafkacheck drives by JSON lines: see docs/client_protocol.md.
 *
 * <p>It serves one client at a time, and answers requests in their order. Only completions of records are written by
 * another thread. It works with every release of the library from 2.8 on, and states what that release has.
 */
public final class Main {
    private static final List<String> OF_EACH_RELEASE = List.of(
            "producer", "idempotence", "headers", "consumer", "read-committed", "leader-epochs", "rack", "flush",
            "transactions", "group-classic", "static-members", "assignor-range", "assignor-roundrobin", "assignor-sticky",
            "assignor-cooperative-sticky");

    private static final Set<String> OF_OPEN_CLIENTS = Set.of(
            "poll", "seek", "only", "commit", "flush", "begin", "add-offsets", "end", "acknowledge", "progress", "close");

    private final Output output;
    private Client client;

    private Main(Output output) {
        this.output = output;
    }

    public static void main(String[] arguments) throws IOException {
        Output output = new Output(new FileOutputStream(FileDescriptor.out));
        // What a library prints must not look like a line of the protocol.
        System.setOut(System.err);
        output.write(hello());
        Main main = new Main(output);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            main.serve(line);
        }
        // Not by returning: a library that hangs must not keep the process.
        Runtime.getRuntime().halt(0);
    }

    /** Whether some kind of client has this request. */
    static boolean isRequest(String what) {
        return OF_OPEN_CLIENTS.contains(what);
    }

    private static JsonObject hello() throws IOException {
        JsonObject library = new JsonObject();
        library.put("name", "org.apache.kafka:kafka-clients");
        library.put("version", version());
        JsonObject hello = new JsonObject();
        hello.put("protocol", 2);
        hello.put("clock", System.nanoTime());
        hello.put("library", library);
        hello.put("capabilities", capabilities());
        return hello;
    }

    /** The class that reads it is elsewhere since 4.4. */
    private static String version() throws IOException {
        Properties properties = new Properties();
        try (InputStream file = ConsumerConfig.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            properties.load(file);
        }
        return properties.getProperty("version");
    }

    private static List<String> capabilities() {
        List<String> capabilities = new ArrayList<>(OF_EACH_RELEASE);
        if (ConsumerConfig.configNames().contains("group.protocol")) {
            capabilities.add("group-consumer");
        }
        if (Ends.ARE_REPORTED) {
            capabilities.add("reported-ends");
        }
        if (hasShareGroups()) {
            capabilities.add("share-groups");
        }
        return capabilities;
    }

    /** 4.0 and 4.1 have them as a preview, without what this method looks for. */
    private static boolean hasShareGroups() {
        try {
            Class.forName("org.apache.kafka.clients.consumer.KafkaShareConsumer", false, Main.class.getClassLoader())
                    .getMethod("acquisitionLockTimeoutMs");
            return true;
        } catch (ClassNotFoundException | NoSuchMethodException e) {
            return false;
        }
    }

    private void serve(String line) {
        JsonObject request;
        try {
            request = JsonParser.object().from(line);
        } catch (JsonParserException e) {
            request = new JsonObject();
        }
        if (!request.isString("do") || !(request.get("id") instanceof Number)) {
            JsonObject answer = new JsonObject();
            answer.put("id", null);
            answer.put("error", Failure.of("INVALID_REQUEST", "expected a JSON object with id and do"));
            output.write(answer);
            return;
        }
        if (request.getString("do").equals("send")) {
            send(request.getArray("records"));
            return;
        }
        JsonObject answer = new JsonObject();
        answer.put("id", request.getLong("id"));
        try {
            answer.putAll(answer(request));
        } catch (Failure e) {
            answer.put("error", e.error());
        } catch (ConfigException e) {
            answer.put("error", Failure.of("INVALID_CONFIG", e.getMessage()));
        } catch (RuntimeException e) {
            answer.put("error", Failure.of(e));
        }
        output.write(answer);
    }

    private void send(JsonArray records) {
        for (int at = 0; at < records.size(); at++) {
            JsonObject record = records.getObject(at);
            if (client instanceof ProducerClient producer) {
                producer.send(record);
                continue;
            }
            JsonObject error = Failure.of("INVALID_STATE", "no producer is open");
            error.put("sent", false);
            output.complete(record.getLong("n"), error);
        }
    }

    private JsonObject answer(JsonObject request) throws Failure {
        String what = request.getString("do");
        if (what.equals("open")) {
            if (client != null) {
                throw new Failure("INVALID_STATE", "a client is open already");
            }
            client = open(request);
            return new JsonObject();
        }
        if (client == null) {
            throw isRequest(what) ? new Failure("INVALID_STATE", "no client is open") : Failure.unknown(what);
        }
        if (what.equals("close")) {
            Client closing = client;
            client = null;
            return closing.close(Json.timeout(request));
        }
        return client.answer(what, request);
    }

    private Client open(JsonObject request) throws Failure {
        return switch (request.getString("role", "")) {
            case "producer", "transactional" -> ProducerClient.open(request, output);
            case "share" -> ShareClient.open(request);
            case "consumer", "member" -> ConsumerClient.open(request);
            default -> throw new Failure("INVALID_REQUEST", "unknown role " + request.get("role"));
        };
    }
}
