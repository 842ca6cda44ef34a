"""Dagster: a release is an asset; what `verify` and `judge` find are checks of it that block what comes after."""

import json
import os
import subprocess

import dagster as dg

COMMANDS = {
    "release": "sanitize release people.parquet -p policy.toml -o released.parquet --force",
    "verify": "sanitize verify released.parquet --source people.parquet -p policy.toml --json",
    "judge": "sanitize judge released.parquet --source people.parquet --outsiders outsiders.parquet -s depression",
}


def run(name: str) -> subprocess.CompletedProcess[str]:
    """One of the commands, in the folder of the release."""
    return subprocess.run(
        COMMANDS[name].split(), cwd=os.environ["RELEASE_FOLDER"], capture_output=True, text=True, check=False
    )


@dg.asset
def released() -> None:
    """`released.parquet`; over its budget nothing is written."""
    done = run("release")
    if done.returncode:
        raise dg.Failure(done.stderr)


@dg.asset_check(asset=released, blocking=True)
def verified() -> dg.AssetCheckResult:
    """Every byte of the file is what its receipt draws from the source."""
    done = run("verify")
    told = {"checks": [{"name": "verify", "ok": False, "detail": done.stderr}]}
    checks = json.loads(done.stdout or json.dumps(told))["checks"]
    failed = {check["name"]: check["detail"] for check in checks if not check["ok"]}
    return dg.AssetCheckResult(passed=done.returncode == 0, metadata=failed)


@dg.asset_check(asset=released, blocking=True)
def not_refuted() -> dg.AssetCheckResult:
    """No attack finds out more of people in the table than of outsiders."""
    done = run("judge")
    return dg.AssetCheckResult(passed=done.returncode == 0, metadata={"message": done.stderr})


defs = dg.Definitions(assets=[released], asset_checks=[verified, not_refuted])
