# For hosts with a registry; others build the same by debootstrap.
FROM debian:bookworm-slim
COPY packages.txt /tmp/packages.txt
RUN apt-get update \
 && xargs apt-get install -y --no-install-recommends < /tmp/packages.txt \
 && rm -rf /var/lib/apt/lists/*
