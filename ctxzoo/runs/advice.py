"""What an error advises, in the options of the command that met it."""

from __future__ import annotations

import re
from collections.abc import Container

_ASIDE = re.compile(r" \(or set `(\w+)`([^)]*)\)")


def advice_for(message: str, options: Container[str]) -> str:
    """A message whose asides, "(or set `name` …)", name arguments, for a command that has these options.

    `name` becomes `--name`, or `--names` where the option takes several; where there is neither the aside is left out.
    """

    def told(aside: re.Match[str]) -> str:
        option = next((name for name in (aside[1], f"{aside[1]}s") if name in options), None)
        return "" if option is None else f" (or set --{option}{aside[2]})"

    return _ASIDE.sub(told, message)
