"""The clients of kafka-python behind our protocols, with workarounds for its known defects.

May import `workloads.clients`; the factory in `workloads.clients.libraries.kafka_python` makes the clients.
"""

from workloads.clients.kafka_python.assignments import go_on_joining as go_on_joining
from workloads.clients.kafka_python.settings import access as access
