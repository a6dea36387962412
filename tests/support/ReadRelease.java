import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;

/**
 * Prints what a release of Kafka declares in its classes, one fact a line, with tabs between the fields. `release_facts.py` runs
 * it with the jars of the release. Reflection, because the names of classes and methods differ between releases.
 */
public class ReadRelease {
    static final String COMMON = "org.apache.kafka.server.common.";

    public static void main(String[] arguments) throws Exception {
        settings("broker", "kafka.server.KafkaConfig$", "kafka.server.KafkaConfig");
        settings("topic", "org.apache.kafka.storage.internals.log.LogConfig", "kafka.log.LogConfig$", "kafka.log.LogConfig");
        settings("producer", "org.apache.kafka.clients.producer.ProducerConfig");
        settings("consumer", "org.apache.kafka.clients.consumer.ConsumerConfig");
        Class<?> metadata = find(COMMON + "MetadataVersion");
        if (metadata != null) {
            metadata(metadata);
            features(metadata);
        }
    }

    /** Settings from the constants of type ConfigDef of the first of these classes that exists and has one. */
    static void settings(String kind, String... classes) throws Exception {
        Map<String, ConfigDef.Type> types = new TreeMap<>();
        for (String name : classes) {
            Class<?> holder = find(name);
            if (holder == null || !types.isEmpty()) continue;
            for (Field field : holder.getDeclaredFields()) {
                if (!ConfigDef.class.isAssignableFrom(field.getType()) || field.getName().startsWith("SERVER_")) continue;
                field.setAccessible(true);
                Object module = java.lang.reflect.Modifier.isStatic(field.getModifiers())
                    ? null : holder.getField("MODULE$").get(null);
                ConfigDef definition = (ConfigDef) field.get(module);
                for (ConfigDef.ConfigKey key : definition.configKeys().values()) types.put(key.name, key.type);
            }
        }
        types.forEach((name, type) -> print(kind, name, type));
    }

    /** Levels of metadata.version by name, and the oldest and the newest with which storage is formatted. */
    static void metadata(Class<?> metadata) throws Exception {
        Object newest = newest(metadata);
        for (Object each : metadata.getEnumConstants()) {
            print("level", call(each, "version"), call(each, "featureLevel"));
        }
        Field oldest = field(metadata, "MINIMUM_BOOTSTRAP_VERSION");
        if (oldest == null) oldest = field(metadata, "MINIMUM_VERSION");
        print("metadata", call(oldest.get(null), "featureLevel"), call(newest, "featureLevel"));
    }

    /** Features that brokers support besides metadata.version: lowest, highest, default level, metadata.version of level 1. */
    static void features(Class<?> metadata) throws Exception {
        Class<?> declared = find(COMMON + "Feature");
        for (Map.Entry<?, ?> entry : supported().entrySet()) {
            String name = (String) entry.getKey();
            if (name.equals("metadata.version")) continue;
            Object usual = 0, needs = 0;
            for (Object each : declared == null ? new Object[0] : declared.getEnumConstants()) {
                if (!name.equals(call(each, "featureName"))) continue;
                usual = each.getClass().getMethod("defaultLevel", metadata).invoke(each, newest(metadata));
                for (Object version : (Object[]) call(each, "featureVersions")) {
                    Map<?, ?> on = (Map<?, ?>) call(version, "dependencies");
                    if (((Number) call(version, "featureLevel")).intValue() == 1 && on.containsKey("metadata.version")) {
                        needs = on.get("metadata.version");
                    }
                }
            }
            print("feature", name, call(entry.getValue(), "min"), call(entry.getValue(), "max"), usual, needs);
        }
    }

    static Map<?, ?> supported() throws Exception {
        for (Method each : find("org.apache.kafka.controller.QuorumFeatures").getMethods()) {
            if (!each.getName().matches("default(Supported)?FeatureMap")) continue;
            return (Map<?, ?>) (each.getParameterCount() == 0 ? each.invoke(null) : each.invoke(null, false));
        }
        throw new IllegalStateException("QuorumFeatures has no map of the supported features");
    }

    static Object newest(Class<?> metadata) throws Exception {
        Field production = field(metadata, "LATEST_PRODUCTION");
        return production != null ? production.get(null) : metadata.getMethod("latest").invoke(null);
    }

    static Class<?> find(String name) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException absent) {
            return null;
        }
    }

    static Field field(Class<?> holder, String name) {
        try {
            return holder.getField(name);
        } catch (NoSuchFieldException absent) {
            return null;
        }
    }

    static Object call(Object target, String method) throws Exception {
        Method found = target.getClass().getMethod(method);
        found.setAccessible(true);
        return found.invoke(target);
    }

    static void print(Object... fields) {
        StringBuilder line = new StringBuilder();
        for (Object each : fields) line.append(line.length() == 0 ? "" : "\t").append(each);
        System.out.println(line);
    }
}
