# The face of the room: read by type checkers, and by `lazy_loader` at run time.
from ._bundled import (
    load_berkeley as load_berkeley,
    load_framingham as load_framingham,
    load_hair_eye as load_hair_eye,
    load_titanic as load_titanic,
    make_joint as make_joint,
    make_table as make_table,
)
from ._survey import load_survey as load_survey
