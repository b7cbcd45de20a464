"""`python -m ctxzoo.cli`: the command line."""

import sys

from ctxzoo.cli.main import main

sys.exit(main())
