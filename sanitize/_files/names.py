"""Names of files from outside, before anything is done with them."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sanitize.errors import SanitizeError

_SHOWN = 60
# What makes a name useless wherever it is asked for; all else is for who opens the file to say.
_USELESS = {
    errno.ENAMETOOLONG: "is too long for a file",
    errno.ELOOP: "is a link that leads around in a circle",
    errno.EACCES: "is below a folder that may not be entered",
}


def path_of(name: str | os.PathLike[str], error: type[SanitizeError]) -> Path:
    """The name as a path.

    Raises
    ------
    SanitizeError
        Of the kind given, if no file can have this name (it holds NUL, is too long, or is a link to itself), or nobody
        can ask for it, below a folder that may not be entered.
    """
    path = Path(name)
    try:
        path.stat()
    except ValueError:
        raise error(f"{shortened(path)} cannot be the name of a file: it holds a NUL character; rename it") from None
    except OSError as problem:
        if problem.errno in _USELESS:
            raise error(f"{shortened(path)} {_USELESS[problem.errno]}; name another") from None
    return path


def shortened(path: Path) -> str:
    """The last part of a path, cut where it is too long for a line."""
    name = path.name or str(path)
    return repr(name if len(name) <= _SHOWN else f"{name[:_SHOWN]}...")
