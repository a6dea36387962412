package kafkacheck.client;

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

    /** The completions of the next line, with commas between them. */
    private StringBuilder done = new StringBuilder();

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
            if (answer.remove("records") instanceof Batches records) {
                String rest = JsonWriter.string(answer);
                writeLine(rest.substring(0, rest.length() - 1) + ",\"records\":" + records + "}");
            } else {
                writeLine(JsonWriter.string(answer));
            }
        }
    }

    /** A record was stored; offset: null where the broker gave none. */
    void complete(long number, Long offset) {
        complete("{\"n\":" + number + ",\"offset\":" + offset + "}");
    }

    void complete(long number, JsonObject error) {
        complete("{\"n\":" + number + ",\"error\":" + JsonWriter.string(error) + "}");
    }

    /** The thread that calls it does not wait for a line to be written. */
    private synchronized void complete(String completion) {
        if (done.isEmpty()) {
            notifyAll();
        } else {
            done.append(',');
        }
        done.append(completion);
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

    private synchronized StringBuilder taken() {
        StringBuilder taken = done;
        done = new StringBuilder();
        return taken;
    }

    private void writeDone(StringBuilder completions) {
        if (!completions.isEmpty()) {
            writeLine("{\"done\":[" + completions + "]}");
        }
    }

    private void writeLine(String line) {
        try {
            stream.write((line + "\n").getBytes(StandardCharsets.UTF_8));
            stream.flush();
        } catch (IOException e) {
            // Nobody reads any more.
            Runtime.getRuntime().halt(1);
        }
    }
}
