"""`python -m ctxzoo.cli`: the command line."""

import sys

from ctxzoo_command import main

sys.exit(main())
