"""Configurations × scenarios on real clusters: what each combination keeps, and what it costs.

    config_matrix   the configurations
    scenario        what happens to the cluster; one file each in scenarios/
    cell, matrix    one combination; all of them, with those that are impossible
    batch           cells that share one run, because they differ only in settings of topics and clients
    side_by_side    the workload of such a run: a topic and a producer for each cell
    split           the history of such a run as one history for each cell
    run_batch       runs a batch, judges each cell, and tries again what did not show its loss
    cell_result     what a cell showed, against what the rules of `audit` predict
    table           all results as Markdown, CSV and JSON

May import `pytest_kafkacheck.experiment`, `pytest_kafkacheck.audit` and what these may import.
"""
