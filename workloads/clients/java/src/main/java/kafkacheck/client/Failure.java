package kafkacheck.client;

import com.grack.nanojson.JsonObject;
import java.util.Locale;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;

/** An error that is the answer to a request. */
final class Failure extends Exception {
    private static final long serialVersionUID = 1;

    private final transient JsonObject error;

    Failure(String name, String message) {
        this(of(name, message));
    }

    Failure(JsonObject error) {
        super(error.getString("name"));
        this.error = error;
    }

    static Failure unknown(String request) {
        return new Failure("INVALID_REQUEST", "unknown request " + request);
    }

    static Failure wrongState(String what) {
        return new Failure("INVALID_STATE", "the client is a " + what);
    }

    JsonObject error() {
        return error;
    }

    static JsonObject of(String name, String message) {
        JsonObject error = new JsonObject();
        error.put("name", name);
        if (message != null) {
            error.put("message", message);
        }
        return error;
    }

    static JsonObject of(Throwable cause) {
        JsonObject error = of(name(cause), cause.getMessage());
        error.put("retriable", cause instanceof RetriableException);
        return error;
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
                .toUpperCase(Locale.ROOT);
    }
}
