package kafkacheck.client;

import com.grack.nanojson.JsonObject;
import java.time.Duration;

/** A producer or a consumer that serves requests. */
interface Client {
    /** The fields of the answer to a request. */
    JsonObject answer(String what, JsonObject request) throws Failure;

    /** Completes what is under way, and leaves the group. */
    JsonObject close(Duration timeout) throws Failure;
}
