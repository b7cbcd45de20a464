"""How long threads that wait for work keep a core busy; importing this module, before torch, bounds it.

The threads of GNU OpenMP, with which torch computes on Linux, spin before they sleep: by default so long that a busy
process beside a training holds a core that all others wait for. `SPINS` rounds cost a training that is alone about a
tenth, and make one in company 1.5 to 2.7 times as fast where that was measured (benchmarks/README.md). The library
reads the variable when it is loaded, and processes that are started from this one inherit it. Who sets GOMP_SPINCOUNT
or OMP_WAIT_POLICY decides otherwise.
"""

from __future__ import annotations

import os

SPINS = 1_000

if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", str(SPINS))
