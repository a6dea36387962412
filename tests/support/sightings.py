"""Which anomaly has been seen on real brokers, by which test, and which ones only planted histories have.

docs/anomalies.md shows it as a table. `tests/support/test_sightings.py` sees that each anomaly is here once, and that
each test asserts it by name. A test of `make nightly` is among them where one of `make test` would be too slow.
"""

from __future__ import annotations

from collections.abc import Mapping

CLUSTER = "tests/cluster"
READERS_AND_SENDERS = f"{CLUSTER}/test_faulty_clients.py::test_readers_and_senders"
UNCOMMITTED = (
    f"{CLUSTER}/test_faulty_clients.py::test_a_reader_that_takes_uncommitted_records_for_committed_ones"
)
MEMBERS = f"{CLUSTER}/test_faulty_clients.py::test_members_and_programs_that_change_their_group"
WRITTEN_ANEW = f"{CLUSTER}/test_faulty_clients.py::test_a_log_that_is_written_anew"
HALVES = f"{CLUSTER}/test_bank.py::test_an_unclean_election_loses_halves_of_transfers"
BOUNDS = f"{CLUSTER}/test_bounds.py::test_an_outage_is_measured_against_the_bounds"
LEFT_DOWN = (
    f"{CLUSTER}/test_unrecovered.py::test_a_run_whose_cluster_does_not_recover_is_judged_by_what_it_recorded"
)
REPLICATION = f"{CLUSTER}/test_replication.py"
PIPELINE = "examples/test_pipeline.py"
APPLICATIONS = f"{CLUSTER}/test_pipeline.py"

SEEN: Mapping[str, str] = {
    "lost-write": WRITTEN_ANEW,
    "lost-read": WRITTEN_ANEW,
    "risen-key": f"{CLUSTER}/test_compacted.py"
    "::test_a_reader_that_is_away_for_too_long_takes_deleted_keys_for_alive",
    "unseen": LEFT_DOWN,
    "expired": f"{CLUSTER}/test_rewind.py::test_what_retention_removes_unread_is_expired_and_not_lost",
    "duplicate": "examples/test_duplicates.py::test_without_idempotence_a_lost_response_duplicates_records",
    "offset-reuse": WRITTEN_ANEW,
    "phantom-read": READERS_AND_SENDERS,
    "G1a": READERS_AND_SENDERS,
    "foreign-record": READERS_AND_SENDERS,
    "corrupt-record": READERS_AND_SENDERS,
    "read-your-writes": f"{CLUSTER}/test_sessions.py"
    "::test_followers_miss_own_writes_until_their_next_fetch_returns",
    "monotonic-reads": READERS_AND_SENDERS,
    "monotonic-writes": WRITTEN_ANEW,
    "writes-follow-reads": WRITTEN_ANEW,
    "poll-skip": READERS_AND_SENDERS,
    "nonmonotonic-poll": READERS_AND_SENDERS,
    "int-poll-skip": READERS_AND_SENDERS,
    "int-nonmonotonic-poll": READERS_AND_SENDERS,
    "stalled-reader": READERS_AND_SENDERS,
    "nonmonotonic-send": WRITTEN_ANEW,
    "int-send-skip": UNCOMMITTED,
    "realtime-order": READERS_AND_SENDERS,
    "overtaken-write": WRITTEN_ANEW,
    "torn-transaction": HALVES,
    "wrong-total": HALVES,
    "precommitted-read": UNCOMMITTED,
    "future-read": READERS_AND_SENDERS,
    "G0": UNCOMMITTED,
    "read-above-lso": UNCOMMITTED,
    "double-ownership": MEMBERS,
    "group-skip": f"{CLUSTER}/test_groups.py::test_latest_skips_what_follows_a_deleted_position",
    "added-partition-skip": f"{CLUSTER}/test_faulty_clients.py"
    "::test_a_group_that_begins_at_the_end_of_an_added_partition",
    "commit-beyond-polls": MEMBERS,
    "commit-beyond-end": MEMBERS,
    "commit-regression": MEMBERS,
    "unfenced-commit": f"{CLUSTER}/test_copy.py::test_positions_without_a_membership_let_a_zombie_commit",
    "excess-duplicates": MEMBERS,
    "lost-copy": f"{CLUSTER}/test_copy.py::test_at_most_once_loses_copies",
    "orphaned-partition": MEMBERS,
    "duplicate-copy": f"{CLUSTER}/test_copy.py::test_at_least_once_repeats_copies",
    "missing-output": f"{PIPELINE}::test_an_application_that_commits_first_loses_outputs",
    "duplicate-output": f"{PIPELINE}::test_an_application_that_starts_again_repeats_outputs",
    "reordered-output": f"{PIPELINE}::test_an_application_that_sets_orders_aside_changes_their_order",
    "wrong-aggregate": f"{APPLICATIONS}::test_a_count_that_is_wrong_after_a_crash",
    "invented-output": f"{APPLICATIONS}::test_an_application_that_writes_something_else",
    "standstill": f"{APPLICATIONS}::test_a_standstill_beyond_its_bound_is_found",
    "unprocessed-input": f"{APPLICATIONS}::test_an_application_that_stops_working",
    "added-queue-skip": f"{CLUSTER}/test_queue.py::test_a_share_group_that_begins_at_the_end_of_an_added_partition",
    "queue-lost": f"{CLUSTER}/test_queue.py::test_a_client_that_accepts_what_it_never_processed_loses_records",
    "forgotten-change": f"{CLUSTER}/test_faulty_clients.py::test_a_program_that_deletes_topics_of_others",
    "replica-divergence": f"{CLUSTER}/test_replicas.py::test_a_replica_that_changed_makes_a_run_invalid",
    "leader-below-watermark": f"{REPLICATION}::test_a_disk_that_forgets_what_was_replicated",
    "unclean-truncation": f"{REPLICATION}::test_an_unclean_election_cuts_what_was_replicated",
    "unavailable": LEFT_DOWN,
    "silent-partition": LEFT_DOWN,
    "slow-recovery": BOUNDS,
}
"""Name of an anomaly to the test, as pytest spells it."""

PLANTED: Mapping[str, str] = {
    "inconsistent-offsets": "Needs replicas that disagree below the high watermark, or a damaged disk. A client "
    "cannot write to an offset of its choice.",
    "watermark-above-end": "Needs a broker whose log ends below its own high watermark.",
    "watermark-regression": "Needs a leader that lowers its high watermark.",
    "replica-below-watermark": "Needs a follower that removes what its leader has.",
    "unexplained-log-start": "Needs a broker that removes records without a reason, or somebody else who does.",
    "log-start-regression": "Needs a leader that forgets what it has removed.",
    "acks-below-min-isr": "Needs a leader that does not know how many replicas are in sync.",
    "two-leaders-in-epoch": "Needs a controller that elects twice in an epoch.",
    "controller-conflict": "Needs a voter of the quorum that votes twice in an epoch.",
    "controller-regression": "Needs somebody else who writes to ZooKeeper, or a ZooKeeper that forgets.",
    "leader-outside-isr": "Needs a controller that writes a change of a partition in part.",
    "eligible-conflict": "Needs a controller that changes the ISR and not what is eligible.",
    "ineligible-leader": "Needs a controller that elects a replica which may lack records.",
    "metadata-regression": "Needs a broker that goes back to an older image of the metadata.",
    "metadata-disagreement": "Needs a broker that does not learn of a change although all faults are healed.",
    "group-state-conflict": "Needs a coordinator that applies a change of a group in part.",
    "group-epoch-regression": "Needs a coordinator that forgets a change of a group.",
    "unexplained-rebalance": "Needs a member that joins again without a reason. The clients that we have do not.",
    "position-regression": "A note: Kafka does not promise otherwise. Members that commit less than before are in "
    "tests/cluster/test_faulty_clients.py, but only some of their runs have a sample between two such commits.",
    "transaction-state-regression": "Needs a coordinator that forgets what it has decided.",
    "producer-epoch-regression": "Needs a coordinator that forgets that it has fenced a producer.",
    "read-above-watermark": "Needs a broker that serves what it has not replicated.",
    "wrong-offset-for-time": "Needs a broker with a damaged time index. The workload `Rewind` asks real ones.",
    "queue-double-holder": "Needs a broker that gives a record to two consumers at a time. The workload `Queue` asks "
    "real ones.",
    "queue-redelivery": "Needs a share coordinator that forgets what it has confirmed.",
    "queue-delivery-count": "Needs a broker that counts deliveries wrongly.",
    "queue-unfinished": "Needs a share group that makes no progress for a quarter of a minute after all faults.",
    "int-nonmonotonic-send": "Needs a broker that accepts a sequence number out of order. After a truncation between "
    "two sends of one transaction, the coordinator aborts it.",
    "G0-realtime": "A note: Kafka does not promise otherwise. It needs three transactions that overlap by chance.",
    "G1c": "A note: Kafka does not promise otherwise. No workload polls, within one transaction, what another one "
    "committed meanwhile.",
    "G1c-wr": "Needs two transactions that each read what the other one committed; a broker would have to return "
    "uncommitted records to a reader of committed ones.",
    "G1c-realtime": "Needs a broker that returns uncommitted records to a reader of committed ones, within a "
    "transaction.",
    "zombie-write": "Needs a broker that accepts a producer epoch that it has fenced.",
}
"""Name of an anomaly that no client can cause, or nothing promises to prevent, to why no test has seen it."""
