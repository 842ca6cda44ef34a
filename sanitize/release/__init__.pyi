from . import (
    choosing as choosing,
    saved as saved,
)
