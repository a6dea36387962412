import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.streams.StreamsBuilder;

/**
 * An application: reads orders, writes an invoice of each, exactly once.
 *
 * <p>Usage: StreamsCopier BOOTSTRAP SOURCE SINK GROUP CLIENT
 */
public final class StreamsCopier {
    private static final Pattern ID = Pattern.compile("\"id\": *\"([^\"]*)\"");

    public static void main(String[] arguments) throws Exception {
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(arguments[1]).mapValues(StreamsCopier::invoice).to(arguments[2]);
        Program.run(builder.build(), arguments[0], arguments[3], arguments[4]);
    }

    private static String invoice(String order) {
        Matcher id = ID.matcher(order);
        return "{\"of\": \"" + (id.find() ? id.group(1) : "") + "\"}";
    }

    private StreamsCopier() {}
}
