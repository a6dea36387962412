"""``python -m pytest_kafkacheck`` is ``kafkacheck``."""

import sys

from pytest_kafkacheck.cli.main import main

sys.exit(main())
