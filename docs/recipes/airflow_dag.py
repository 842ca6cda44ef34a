"""Airflow: a release a month. A step that exits with another code than 0 fails, and stops those after it."""

import os

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, chain

COMMANDS = {
    "release": "sanitize release people.parquet -p policy.toml -o new.parquet --force",
    "verify": "sanitize verify new.parquet --source people.parquet -p policy.toml --json > verification.json",
    "judge": "sanitize judge new.parquet --source people.parquet --outsiders outsiders.parquet -s depression",
    "publish": "mv new.parquet released.parquet",
}

with DAG("release_people", schedule="@monthly", catchup=False, max_active_runs=1) as dag:
    folder = os.environ["RELEASE_FOLDER"]
    chain(*(BashOperator(task_id=name, bash_command=command, cwd=folder) for name, command in COMMANDS.items()))
