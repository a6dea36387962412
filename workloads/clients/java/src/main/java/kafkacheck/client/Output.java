package kafkacheck.client;

import com.grack.nanojson.JsonArray;
import com.grack.nanojson.JsonObject;
import com.grack.nanojson.JsonWriter;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/**
 * Writes lines. Completions come one by one from the producer's thread; those that came while a line was written share
 * the next one.
 */
final class Output {
    private final OutputStream stream;
    private final Object lines = new Object();
    private JsonArray done = new JsonArray();

    Output(OutputStream stream) {
        this.stream = stream;
        Thread writer = new Thread(this::writeCompletions, "completions");
        writer.setDaemon(true);
        writer.start();
    }

    /** Writes an answer, after all completions before it. */
    void write(JsonObject answer) {
        synchronized (lines) {
            writeDone(taken());
            writeLine(answer);
        }
    }

    /** The thread that calls it does not wait for a line to be written. */
    synchronized void complete(JsonObject completion) {
        done.add(completion);
        notifyAll();
    }

    private void writeCompletions() {
        try {
            while (true) {
                synchronized (this) {
                    while (done.isEmpty()) {
                        wait();
                    }
                }
                synchronized (lines) {
                    writeDone(taken());
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized JsonArray taken() {
        JsonArray taken = done;
        done = new JsonArray();
        return taken;
    }

    private void writeDone(JsonArray completions) {
        if (!completions.isEmpty()) {
            JsonObject line = new JsonObject();
            line.put("done", completions);
            writeLine(line);
        }
    }

    private void writeLine(JsonObject line) {
        try {
            stream.write((JsonWriter.string(line) + "\n").getBytes(StandardCharsets.UTF_8));
            stream.flush();
        } catch (IOException e) {
            // Nobody reads any more.
            Runtime.getRuntime().halt(1);
        }
    }
}
