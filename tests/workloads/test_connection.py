"""Answers that several threads of a process read for the first time."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc
import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from kafka.protocol.api_header import RequestHeader
from kafka.protocol.metadata import MetadataResponse

THREADS, VERSION = 4, 7
stored = itertools.count()

class Versions(dict):
    '''Its classes by version. All threads find one missing; the first that makes one stores it last.'''

    def __contains__(self, version):
        is_there = super().__contains__(version)
        if not is_there and threading.current_thread() is not threading.main_thread():
            time.sleep(0.2)
        return is_there

    def __setitem__(self, version, made):
        if threading.current_thread() is not threading.main_thread():
            time.sleep(0.1 * (THREADS - next(stored)))
        super().__setitem__(version, made)

MetadataResponse._VERSIONS = Versions()

import workloads.clients.connection

def answer(_=0):
    return RequestHeader(MetadataResponse.API_KEY, VERSION, 1, "id", version=1).get_response_class()

with ThreadPoolExecutor(THREADS) as pool:
    list(pool.map(answer, range(THREADS)))
gc.collect()
assert answer()[None] is MetadataResponse
"""


def test_threads_that_read_the_first_answers_at_once_do_not_spoil_the_later_ones() -> None:
    """kafka-python refers weakly to a class that it does not keep. In a process of its own, since what is spoilt
    stays so: a test that did this in the process of others made clients fail there for no reason of their own.
    """
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
