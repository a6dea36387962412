"""Whether a client process keeps to the protocol (docs/client_protocol.md): one rule after another, each in a file by
what it is about. `bench` says what a rule is and what it gets, `run` carries them out.
"""
