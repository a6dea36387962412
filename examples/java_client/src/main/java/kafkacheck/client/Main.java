package kafkacheck.client;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.utils.AppInfoParser;

/**
 * A client of Apache Kafka's Java library, which kafkacheck drives by JSON lines: see docs/client_protocol.md.
 *
 * <p>It serves one client at a time, and answers requests in their order. Only completions of records are written by
 * another thread.
 */
public final class Main {
    private static final List<String> CAPABILITIES = List.of(
            "producer", "idempotence", "headers", "consumer", "read-committed", "leader-epochs", "rack", "transactions",
            "group-classic", "group-consumer", "static-members", "assignor-range", "assignor-roundrobin",
            "assignor-sticky", "assignor-cooperative-sticky", "share-groups");

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
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            main.serve(line);
        }
        // Not by returning: a library that hangs must not keep the process.
        Runtime.getRuntime().halt(0);
    }

    private static ObjectNode hello() {
        ObjectNode hello = Json.object().put("protocol", 1).put("clock", System.nanoTime());
        hello.putObject("library")
                .put("name", "org.apache.kafka:kafka-clients")
                .put("version", AppInfoParser.getVersion());
        CAPABILITIES.forEach(hello.putArray("capabilities")::add);
        return hello;
    }

    private void serve(String line) {
        JsonNode request;
        try {
            request = Json.parse(line);
        } catch (JsonProcessingException e) {
            request = Json.object();
        }
        if (!request.path("do").isTextual() || !request.path("id").isIntegralNumber()) {
            ObjectNode answer = Json.object().putNull("id");
            answer.set("error", Failure.of("INVALID_REQUEST", "expected a JSON object with id and do"));
            output.write(answer);
            return;
        }
        if (request.path("do").asText().equals("send")) {
            send(request.path("records"));
            return;
        }
        ObjectNode answer = Json.object().put("id", request.get("id").asLong());
        try {
            answer.setAll(answer(request));
        } catch (Failure e) {
            answer.set("error", e.error());
        } catch (ConfigException e) {
            answer.set("error", Failure.of("INVALID_CONFIG", e.getMessage()));
        } catch (RuntimeException e) {
            answer.set("error", Failure.of(e));
        }
        output.write(answer);
    }

    private void send(JsonNode records) {
        if (client instanceof ProducerClient producer) {
            records.forEach(producer::send);
            return;
        }
        ObjectNode error = Failure.of("INVALID_STATE", "no producer is open").put("sent", false);
        records.forEach(each -> output.complete(Json.object().put("n", each.path("n").asLong()).set("error", error)));
    }

    private ObjectNode answer(JsonNode request) throws Failure {
        String what = request.get("do").asText();
        if (what.equals("open")) {
            if (client != null) {
                throw new Failure("INVALID_STATE", "a client is open already");
            }
            Opened opened = open(request);
            client = opened.client();
            return opened.answer();
        }
        if (client == null) {
            boolean isKnown = List.of(
                            "poll", "seek", "only", "commit", "begin", "add-offsets", "end", "acknowledge", "progress", "close")
                    .contains(what);
            throw isKnown ? new Failure("INVALID_STATE", "no client is open") : Failure.unknown(what);
        }
        if (what.equals("close")) {
            Client closing = client;
            client = null;
            return closing.close(Json.timeout(request));
        }
        return client.answer(what, request);
    }

    private record Opened(Client client, ObjectNode answer) {}

    private Opened open(JsonNode request) throws Failure {
        return switch (request.path("role").asText()) {
            case "producer", "transactional" -> new Opened(ProducerClient.open(request, output), Json.object());
            case "share" -> new Opened(ShareClient.open(request), Json.object());
            case "consumer", "member" -> new Opened(ConsumerClient.open(request), Json.object());
            default -> throw new Failure("INVALID_REQUEST", "unknown role " + request.path("role"));
        };
    }
}
