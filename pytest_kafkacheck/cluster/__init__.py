"""Kafka clusters in Docker."""
