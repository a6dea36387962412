"""Known defects of released brokers and clients, as a benchmark of what runs find: see `table` and `showing`.

A defect is *found* where a run on an affected release has a finding. The *control* is the first release with the
mend, where nothing may be found. *Directed* is a claim or a schedule that was made for the defect, *blind* a soak
that was told nothing of it.
"""
