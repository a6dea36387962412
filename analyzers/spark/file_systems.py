"""What a session needs before it reads file systems other than this machine's. Loads no more of Spark than that."""

from analyzers.spark.jvm.hadoop_defaults import restore_defaults as restore_defaults
