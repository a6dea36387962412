package kafkacheck.client;

import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;

/** An error that is the answer to a request. */
final class Failure extends Exception {
    private static final long serialVersionUID = 1;

    private final transient ObjectNode error;

    Failure(String name, String message) {
        this(of(name, message));
    }

    Failure(ObjectNode error) {
        super(error.path("name").asText());
        this.error = error;
    }

    static Failure unknown(String request) {
        return new Failure("INVALID_REQUEST", "unknown request " + request);
    }

    ObjectNode error() {
        return error;
    }

    static ObjectNode of(String name, String message) {
        return Json.object().put("name", name).put("message", message);
    }

    static ObjectNode of(Throwable cause) {
        return of(name(cause), cause.getMessage()).put("retriable", cause instanceof RetriableException);
    }

    /** Kafka's name of the error; for those without, the name of the class in the same form. */
    private static String name(Throwable cause) {
        Errors known = Errors.forException(cause);
        if (known != Errors.UNKNOWN_SERVER_ERROR) {
            return known.name();
        }
        return cause.getClass().getSimpleName()
                .replaceFirst("Exception$", "")
                .replaceAll("([a-z])([A-Z])", "$1_$2")
                .toUpperCase();
    }
}
