# The face of the room: read by type checkers, and by `lazy_loader` at run time.
from ._engine import (
    Item as Item,
    Outcome as Outcome,
    TASK_ROWS as TASK_ROWS,
    merge_all as merge_all,
    shared_noise_key as shared_noise_key,
    partition_words as partition_words,
    release_by_tasks as release_by_tasks,
    release_frame as release_frame,
)
from ._writers import (
    CsvWriter as CsvWriter,
    ReleaseWriter as ReleaseWriter,
    output_schema as output_schema,
    restore_type as restore_type,
)
from ._privatize import (
    TableDescription as TableDescription,
    audit_file as audit_file,
    plan_file as plan_file,
    release_file as release_file,
)
from ._second_pass import SecondPass as SecondPass
from ._units import plan_units as plan_units, release_units as release_units
