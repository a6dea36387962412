package kafkacheck.client;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/**
 * Writes lines. Completions come one by one from the producer's thread; those that came while a line was written share
 * the next one.
 */
final class Output {
    private final OutputStream stream;
    private ArrayNode done = Json.object().putArray("done");

    Output(OutputStream stream) {
        this.stream = stream;
        Thread writer = new Thread(this::writeCompletions, "completions");
        writer.setDaemon(true);
        writer.start();
    }

    /** Writes an answer, after all completions before it. */
    synchronized void write(ObjectNode answer) {
        writeDone();
        writeLine(answer);
    }

    synchronized void complete(ObjectNode completion) {
        done.add(completion);
        notifyAll();
    }

    private synchronized void writeCompletions() {
        try {
            while (true) {
                while (done.isEmpty()) {
                    wait();
                }
                writeDone();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void writeDone() {
        if (!done.isEmpty()) {
            ObjectNode line = Json.object();
            line.set("done", done);
            done = Json.object().putArray("done");
            writeLine(line);
        }
    }

    private void writeLine(ObjectNode line) {
        try {
            stream.write((line + "\n").getBytes(StandardCharsets.UTF_8));
            stream.flush();
        } catch (IOException e) {
            // Nobody reads any more.
            Runtime.getRuntime().halt(1);
        }
    }
}
