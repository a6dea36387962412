package kafkacheck.client;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;

/** A producer or a consumer that serves requests. */
interface Client {
    /** The fields of the answer to a request. */
    ObjectNode answer(String what, JsonNode request) throws Failure;

    /** Completes what is under way, and leaves the group. */
    ObjectNode close(Duration timeout) throws Failure;
}
