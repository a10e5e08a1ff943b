"""When each alert fires and when it does not: series in promtool's notation, one value a minute ("0+1x60": 61 values rising by
one), the time at which is asked, and the labels of the alerts expected then. Times are seconds since 0 of that notation."""

WARNING, CRITICAL, INFO = "warning", "critical", "info"
CASES = []


def case(alert, at, series, *fires):
    """`fires`: label sets of expected alerts; none: silent."""
    CASES.append({"alert": alert, "at": at, "series": series, "fires": list(fires)})


def state(name, values, run="r", job="j"):
    return {f'holdfast_run_state{{job="{job}",run="{run}",state="{name}"}}': values}


def one(name, values, **labels):
    inside = ",".join(f'{key}="{value}"' for key, value in {"job": "j", "run": "r", **labels}.items())
    return {f"{name}{{{inside}}}": values}


# outcome: success at 1 h, expected hourly
SUCCESS = one("holdfast_run_last_success_timestamp_seconds", "3600x600")
HOURLY = one("holdfast_run_expected_interval_seconds", "3600x600")
case("HoldfastRunNotSucceeding", "2h", SUCCESS | HOURLY)
case("HoldfastRunNotSucceeding", "190m", SUCCESS | HOURLY, {"run": "r", "severity": WARNING})
case("HoldfastRunNotSucceeding", "190m", SUCCESS)  # no interval is known
case("HoldfastRunNotSucceeding", "190m", HOURLY | one("holdfast_run_last_success_timestamp_seconds", "3600x100 9000x500"))
case("HoldfastRunOverdue", "190m", SUCCESS | HOURLY)
case("HoldfastRunOverdue", "250m", SUCCESS | HOURLY, {"run": "r", "severity": CRITICAL})
# The job moves to another machine: the newest success counts.
case("HoldfastRunOverdue", "250m", SUCCESS | HOURLY | one("holdfast_run_last_success_timestamp_seconds", "14000x600", instance="b"))
failed = lambda values: one("holdfast_run_attempts_total", values, outcome="failed")
case("HoldfastRunNeverSucceeded", "30m", failed("0x10 1x600"), {"run": "r", "severity": WARNING})
case("HoldfastRunNeverSucceeded", "30m", failed("0x600"))
case("HoldfastRunNeverSucceeded", "30m", failed("1x600") | SUCCESS)
case("HoldfastRunFailed", "10m", one("holdfast_run_last_exit_code", "82x60"), {"run": "r", "severity": INFO})
case("HoldfastRunFailed", "10m", one("holdfast_run_last_exit_code", "0x60"))
case("HoldfastRunFailed", "10m", one("holdfast_run_last_exit_code", "75x60"))
cause = lambda name, values: one("holdfast_run_failures_total", values, cause=name)
case("HoldfastRunFailingRepeatedly", "5h", cause("io_error", "0x60 1x60 2x60 3x600"), {"run": "r", "cause": "io_error", "severity": WARNING})
case("HoldfastRunFailingRepeatedly", "5h", cause("io_error", "0x60 1x600"))
case("HoldfastRunFailingRepeatedly", "5h", cause("io_error", "0x60 1x600") | cause("bug", "0x60 1x60 2x600"))  # different causes
case("HoldfastDiverged", "10m", one("holdfast_run_last_exit_code", "82x60"), {"run": "r", "severity": CRITICAL})
case("HoldfastDiverged", "10m", one("holdfast_run_last_exit_code", "70x60"))
case("HoldfastHostOomKilled", "70m", cause("host_oom", "0x60 1x60"), {"run": "r", "severity": WARNING})
case("HoldfastHostOomKilled", "70m", cause("killed_unknown", "0x60 1x60"))
case("HoldfastHostOomKilled", "140m", cause("host_oom", "0x60 1x100"))  # an hour later it has been said
case("HoldfastHostOomKilled", "70m", cause("host_oom", "1x100"))  # an old failure that a new process recalls
case("HoldfastDriverMismatch", "10m", one("holdfast_run_last_exit_code", "69x60"), {"run": "r", "severity": CRITICAL})
case("HoldfastDriverMismatch", "10m", one("holdfast_run_last_exit_code", "0x60"))
case("HoldfastRestartLoop", "70m", failed("0x10 0+1x60"), {"run": "r", "severity": CRITICAL})
case("HoldfastRestartLoop", "70m", failed("0x30 1x30 2x30"))

# progress
last = lambda values: one("holdfast_last_update_timestamp_seconds", values)
case("HoldfastStalled", "30m", state("running", "1x60") | last("0+60x5 300x60"), {"job": "j", "run": "r", "severity": CRITICAL})
case("HoldfastStalled", "30m", state("checkpointing", "1x60") | last("0+60x5 300x60"), {"job": "j", "run": "r", "severity": CRITICAL})
case("HoldfastStalled", "30m", state("running", "1x60") | last("0+60x60"))
case("HoldfastStalled", "30m", state("running", "0x60") | state("succeeded", "1x60") | last("0+60x5 300x60"))
case("HoldfastStalled", "30m", state("running", "1x60"))  # its first window is not done: nothing is known
case("HoldfastStalled", "14m", state("running", "1x60") | last("0x60"))
case("HoldfastStalled", "40m", state("running", "1x60") | last("0+60x10 _x10 1200+60x60"))  # restarted
updates = lambda values: one("holdfast_updates_total", values)
case("HoldfastThroughputDrop", "7h", state("running", "1x600") | updates("0+600x360 216000+60x200"),
     {"job": "j", "run": "r", "severity": WARNING})
case("HoldfastThroughputDrop", "7h", state("running", "1x600") | updates("0+600x600"))
case("HoldfastThroughputDrop", "375m", state("running", "1x600") | updates("0+600x360 216000+60x200"))  # not for half an hour yet
case("HoldfastThroughputDrop", "7h", state("running", "0x600") | updates("0+600x360 216000x200"))  # it is over
stage = lambda name, values: one("holdfast_stage_seconds_total", values, stage=name)
case("HoldfastDataStarved", "1h", stage("data", "0+40x120") | stage("forward", "0+20x120"),
     {"job": "j", "run": "r", "stage": "data", "severity": INFO})
case("HoldfastDataStarved", "1h", stage("data", "0+10x120") | stage("forward", "0+50x120"))
case("HoldfastDataStarved", "1h", stage("data", "0x120") | stage("forward", "0x120"))  # nothing moves: no share
nonfinite = lambda values, kind="loss": one("holdfast_nonfinite_total", values, kind=kind)
case("HoldfastNonFiniteLoss", "20m", nonfinite("0x10 2x60"), {"job": "j", "run": "r", "severity": WARNING})
case("HoldfastNonFiniteLoss", "40m", nonfinite("0x10 2x60"))
case("HoldfastNonFiniteLoss", "20m", nonfinite("0x10 2x60", kind="gradient"))
case("HoldfastNonFiniteLoss", "30m", nonfinite("5x20 0x60"))  # the counter of a new process

# memory
peak = lambda values, domain="device": one("holdfast_memory_peak_allocated_bytes", values, domain=domain)
budget = lambda values, domain="device": one("holdfast_memory_budget_bytes", values, domain=domain)
case("HoldfastDeviceMemoryNearBudget", "30m", peak("98x60") | budget("100x60"),
     {"job": "j", "run": "r", "domain": "device", "severity": INFO})
case("HoldfastDeviceMemoryNearBudget", "30m", peak("90x60") | budget("100x60"))
case("HoldfastDeviceMemoryNearBudget", "30m", peak("98x60"))  # no budget
case("HoldfastDeviceMemoryNearBudget", "30m", peak("98x60", "host") | budget("100x60", "host"))
oom = lambda values, action="halve_micro_batch": one("holdfast_oom_events_total", values, action=action)
case("HoldfastDeviceOomRecovering", "40m", oom("0+1x10 10x100"), {"job": "j", "run": "r", "severity": WARNING})
case("HoldfastDeviceOomRecovering", "70m", oom("0x60 1x60"))
case("HoldfastDeviceOomRecovering", "40m", oom("0+1x10 10x100", "aborted"))

# checkpoints
saved = lambda values: one("holdfast_checkpoint_last_success_timestamp_seconds", values)
case("HoldfastCheckpointStale", "3h", state("running", "1x600") | saved("600x600"), {"job": "j", "run": "r", "severity": CRITICAL})
case("HoldfastCheckpointStale", "3h", state("running", "1x600") | saved("0+60x600"))
case("HoldfastCheckpointStale", "3h", state("failed", "1x600") | saved("600x600"))
failing = lambda values: one("holdfast_checkpoint_failures_total", values, reason="io")
case("HoldfastCheckpointFailing", "40m", failing("0x30 1x60"), {"job": "j", "run": "r", "reason": "io", "severity": WARNING})
case("HoldfastCheckpointFailing", "40m", failing("0x60"))
free, size = "holdfast_checkpoint_filesystem_free_bytes", "holdfast_checkpoint_size_bytes"
case("HoldfastCheckpointDiskLow", "30m", one(free, "150x60") | one(size, "100x60"), {"job": "j", "run": "r", "severity": WARNING})
case("HoldfastCheckpointDiskLow", "30m", one(free, "1000x60") | one(size, "100x60"))
case("HoldfastCheckpointDiskLow", "30m", one(free, "150x60"))  # nothing has been saved yet

# export
FILE = 'node_textfile_mtime_seconds{job="n",instance="i",file="/x/holdfast_r.prom"}'
OTHER = 'node_textfile_mtime_seconds{job="n",instance="i",file="/x/apt.prom"}'
case("HoldfastTextfileStale", "2h", state("running", "1x200") | {FILE: "60x200"},
     {"job": "n", "instance": "i", "file": "/x/holdfast_r.prom", "severity": WARNING})
case("HoldfastTextfileStale", "2h", state("running", "1x200") | {FILE: "0+60x200"})
case("HoldfastTextfileStale", "2h", state("succeeded", "1x200") | state("running", "0x200") | {FILE: "60x200"})
case("HoldfastTextfileStale", "2h", state("running", "1x200") | {OTHER: "60x200"})
ERROR = 'node_textfile_scrape_error{job="n",instance="i"}'
case("HoldfastTextfileUnreadable", "30m", {ERROR: "1x60"}, {"instance": "i", "severity": WARNING})
case("HoldfastTextfileUnreadable", "30m", {ERROR: "0x60"})
push = lambda values: one("holdfast_metrics_push_failures_total", values, sink="push")
case("HoldfastPushFailing", "20m", push("0x10 1x60"), {"job": "j", "run": "r", "sink": "push", "severity": INFO})
case("HoldfastPushFailing", "20m", push("0x60"))

# GPUs, of dcgm-exporter
XID = 'DCGM_FI_DEV_XID_ERRORS{gpu="0",Hostname="h"}'
case("HoldfastGpuXidCritical", "10m", {XID: "79x60"}, {"gpu": "0", "Hostname": "h", "severity": CRITICAL})
case("HoldfastGpuXidCritical", "10m", {XID: "13x60"})  # the program's own fault
HOT = 'DCGM_FI_DEV_THERMAL_VIOLATION{gpu="0",Hostname="h"}'
case("HoldfastGpuThrottled", "40m", {HOT: "0+30000000000x60"}, {"gpu": "0", "Hostname": "h", "severity": WARNING})
case("HoldfastGpuThrottled", "40m", {HOT: "0x60"})
