"""What is shown of the output of a JVM that did not start."""

from __future__ import annotations

from analyzers.spark.internals.jvm import without_frames

OUTPUT = """\
WARNING: Using incubator modules: jdk.incubator.vector
Exception in thread "main" java.net.UnknownHostException: vm: Name or service not known
\tat java.base/java.net.InetAddress.getLocalHost(InetAddress.java:1671)
\tat org.apache.spark.util.Utils$.findLocalInetAddress(Utils.scala:1211)
Caused by: java.net.UnknownHostException: vm: Name or service not known
\t... 41 more
"""


def test_errors_are_shown_without_their_frames() -> None:
    assert without_frames(OUTPUT).splitlines() == [
        "WARNING: Using incubator modules: jdk.incubator.vector",
        'Exception in thread "main" java.net.UnknownHostException: vm: Name or service not known',
        "Caused by: java.net.UnknownHostException: vm: Name or service not known",
    ]
