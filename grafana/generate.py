"""Writes dashboards/*.json: Grafana's classic model, which every Grafana since 9 reads. Python's standard library only.

generate.py writes the files; generate.py --check says whether they are what this script writes. Panels are added here, not
in the JSON. What each metric means is in runner/docs/metrics.md.
"""

import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent / "dashboards"
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
RUN = 'job=~"$job",run=~"$run"'
STATES = ["pending", "running", "checkpointing", "stopping", "succeeded", "failed", "preempted"]
COLOURS = {"pending": "#8b98a9", "running": "#2f6fdb", "checkpointing": "#8e5bd0", "stopping": "#b7891f", "succeeded": "#1d8a5b",
           "failed": "#cc3d3d", "preempted": "#d08b2c"}
LINKS = [("holdfast-overview", "All runs"), ("holdfast-run", "One run"), ("holdfast-postmortem", "Post-mortem")]


class Board:
    """Rows of panels on a grid of 24 columns."""

    def __init__(self, uid, title, description, variables=("job", "run"), multi=True):
        self.uid, self.title, self.description = uid, title, description
        self.variables, self.multi = variables, multi
        self.panels, self.annotations = [], []
        self.x = self.y = self.line = 0

    def row(self, title):
        if self.x:
            self.y += self.line
        self.panels.append({"id": len(self.panels) + 1, "type": "row", "title": title, "collapsed": False, "panels": [],
                            "gridPos": {"x": 0, "y": self.y, "w": 24, "h": 1}})
        self.y, self.x, self.line = self.y + 1, 0, 0

    def add(self, kind, title, description, targets, unit="short", w=8, h=8, **more):
        if self.x + w > 24:
            self.y, self.x = self.y + self.line, 0
            self.line = 0
        defaults = {"unit": unit, **more.pop("defaults", {})}
        panel = {"id": len(self.panels) + 1, "type": kind, "title": title, "description": description, "datasource": SOURCE,
                 "gridPos": {"x": self.x, "y": self.y, "w": w, "h": h},
                 "fieldConfig": {"defaults": defaults, "overrides": more.pop("overrides", [])},
                 "options": more.pop("options", OPTIONS.get(kind, {})), "targets": [], **more}
        for letter, target in zip("ABCDEFGH", targets):
            expression, legend, *rest = target
            entry = {"refId": letter, "datasource": SOURCE, "expr": expression, "legendFormat": legend}
            if kind in ("table", "bargauge") or "instant" in rest:
                entry |= {"instant": True, "range": False}
            if kind == "table":
                entry["format"] = "table"
            panel["targets"].append(entry)
        self.panels.append(panel)
        self.x, self.line = self.x + w, max(self.line, h)

    def mark(self, name, expression, colour, text):
        self.annotations.append({"name": name, "datasource": SOURCE, "enable": True, "hide": False, "iconColor": colour,
                                 "expr": expression, "titleFormat": text, "step": "60s", "useValueForTime": False})

    def model(self):
        return {
            "annotations": {"list": self.annotations}, "description": self.description, "editable": False, "fiscalYearStartMonth": 0,
            "graphTooltip": 1, "id": None, "uid": self.uid, "title": self.title, "tags": ["holdfast"], "schemaVersion": 39, "version": 1,
            "refresh": "30s", "timezone": "", "weekStart": "", "time": {"from": "now-6h", "to": "now"}, "timepicker": {}, "liveNow": False,
            "links": [{"title": title, "type": "link", "url": f"/d/{uid}", "icon": "dashboard", "keepTime": True, "includeVars": True,
                       "asDropdown": False, "targetBlank": False, "tags": [], "tooltip": title}
                      for uid, title in LINKS if uid != self.uid],
            "templating": {"list": [datasource_variable()] + [self.variable(name) for name in self.variables]},
            "panels": self.panels,
        }

    def variable(self, name):
        query = {"job": "label_values(holdfast_run_state, job)", "run": 'label_values(holdfast_run_state{job=~"$job"}, run)'}[name]
        every = self.multi or name == "job"
        return {"name": name, "label": name, "type": "query", "datasource": SOURCE, "query": {"query": query, "refId": name},
                "definition": query, "refresh": 2, "sort": 1, "multi": every, "includeAll": every, "hide": 0,
                "skipUrlSync": False, "options": [], "regex": "",
                "current": {"selected": True, "text": ["All"], "value": ["$__all"]} if every else {}}


OPTIONS = {
    "stat": {"reduceOptions": {"values": False, "calcs": ["lastNotNull"], "fields": ""}, "orientation": "auto", "textMode": "auto",
             "colorMode": "value", "graphMode": "area", "justifyMode": "auto"},
    "timeseries": {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
                   "tooltip": {"mode": "multi", "sort": "desc"}},
    "table": {"showHeader": True, "cellHeight": "sm"},
    "bargauge": {"reduceOptions": {"values": False, "calcs": ["lastNotNull"], "fields": ""}, "orientation": "horizontal",
                 "displayMode": "gradient", "showUnfilled": True, "minVizWidth": 0, "minVizHeight": 10},
    "state-timeline": {"mergeValues": True, "showValue": "auto", "alignValue": "left", "rowHeight": 0.85,
                       "legend": {"displayMode": "list", "placement": "bottom", "showLegend": False},
                       "tooltip": {"mode": "single", "sort": "none"}},
    "alertlist": {"maxItems": 20, "sortOrder": 1, "dashboardAlerts": False, "alertName": "Holdfast", "groupMode": "default",
                  "stateFilter": {"firing": True, "pending": True, "noData": False, "normal": False, "error": True}},
}
LINE = {"custom": {"lineWidth": 2, "fillOpacity": 8, "showPoints": "auto", "spanNulls": False}}
STACK = {"custom": {"lineWidth": 1, "fillOpacity": 55, "stacking": {"mode": "normal", "group": "A"}}, "min": 0, "max": 1}


def datasource_variable():
    return {"name": "datasource", "label": "datasource", "type": "datasource", "query": "prometheus", "refresh": 1, "hide": 0, "multi": False,
            "includeAll": False, "regex": "", "skipUrlSync": False, "options": [], "current": {}}


def thresholds(*steps):
    return {"thresholds": {"mode": "absolute", "steps": [{"color": colour, "value": value} for colour, value in steps]},
            "color": {"mode": "thresholds"}}


def state_mappings():
    return {"mappings": [{"type": "value", "options": {str(i): {"text": name, "color": COLOURS[name], "index": i}
                                                       for i, name in enumerate(STATES)}}],
            "color": {"mode": "thresholds"}}


def state_number(selector, by):
    """The state as a number, so that value mappings can name and colour it."""
    parts = [f'{i} * max by ({by}) (holdfast_run_state{{{selector},state="{name}"}})' for i, name in enumerate(STATES)]
    return " + ".join(parts)


def overview():
    board = Board("holdfast-overview", "holdfast: all runs", "Which runs are there, how do they stand, and which need somebody.")
    every = RUN
    count = lambda states: f'count(max by (run) (holdfast_run_state{{{every},state=~"{states}"}}) == 1) or vector(0)'
    board.row("At a glance")
    board.add("stat", "Running", "Runs that say they train now.", [(count("running|checkpointing"), "running", "instant")], w=4, h=5)
    board.add("stat", "Succeeded", "Runs whose last attempt reached its target.", [(count("succeeded"), "succeeded", "instant")], w=4, h=5,
              defaults=thresholds(("green", None)))
    board.add("stat", "Failed", "Runs whose last attempt failed.", [(count("failed"), "failed", "instant")], w=4, h=5,
              defaults=thresholds(("green", None), ("red", 1)))
    board.add("stat", "Overdue", "Runs that have missed two of their expected intervals.",
              [(f"count((time() - max by (run) (holdfast_run_last_success_timestamp_seconds{{{every}}})) > 2 * max by (run) "
                f"(holdfast_run_expected_interval_seconds{{{every}}})) or vector(0)", "overdue", "instant")], w=4, h=5,
              defaults=thresholds(("green", None), ("red", 1)))
    board.add("stat", "Failed attempts, 24 h", "Attempts that failed or were killed in the last day.",
              [(f'sum(increase(holdfast_run_attempts_total{{{every},outcome=~"failed|interrupted"}}[24h])) or vector(0)', "failed", "instant")],
              w=4, h=5, defaults={"decimals": 0, **thresholds(("green", None), ("orange", 1))})
    board.add("stat", "Updates a second", "Of all runs together.",
              [(f"sum(rate(holdfast_updates_total{{{every}}}[$__rate_interval]))", "updates")], unit="ops", w=4, h=5)
    board.row("Runs")
    board.add("table", "Runs", "One line a run. Follow a name to its dashboard.", [
        (state_number(every, "run"), "state"),
        (f"max by (run) (holdfast_run_update{{{every}}}) / max by (run) (holdfast_target_updates{{{every}}})", "done"),
        (f"time() - max by (run) (holdfast_run_last_success_timestamp_seconds{{{every}}})", "age"),
        (f"max by (run) (holdfast_run_last_duration_seconds{{{every}}})", "duration"),
        (f"max by (run) (holdfast_run_last_exit_code{{{every}}})", "exit"),
        (f"max by (run) (holdfast_run_attempt{{{every}}})", "attempt"),
        (f"max by (run) (holdfast_run_last_success_timestamp_seconds{{{every}}}) + max by (run) "
         f"(holdfast_run_expected_interval_seconds{{{every}}}) - time()", "due"),
    ], w=24, h=9, transformations=[
        {"id": "joinByField", "options": {"byField": "run", "mode": "outer"}},
        {"id": "organize", "options": {"excludeByName": {f"Time {i}": True for i in range(1, 8)} | {"Time": True}, "renameByName": {
            "Value #A": "state", "Value #B": "done", "Value #C": "last success, ago", "Value #D": "last duration", "Value #E": "last exit",
            "Value #F": "attempt", "Value #G": "next due in"}}}],
        overrides=[column("state", **state_mappings(), custom={"cellOptions": {"type": "color-text"}}), column("done", unit="percentunit"),
                   column("last success, ago", unit="s"), column("last duration", unit="s"), column("next due in", unit="s"),
                   column("run", links=[{"title": "this run", "url": "/d/holdfast-run?var-run=${__value.raw}"}])])
    board.add("state-timeline", "States", "How each run went.", [(state_number(every, "run"), "{{run}}")], w=24, h=8,
              defaults=state_mappings())
    board.row("Trouble")
    board.add("timeseries", "Failures by cause", "Attempts that failed, an hour each.",
              [(f"sum by (cause) (increase(holdfast_run_failures_total{{{every}}}[1h])) > 0", "{{cause}}")], w=12,
              defaults={"custom": {"drawStyle": "bars", "fillOpacity": 70, "stacking": {"mode": "normal", "group": "A"}}, "decimals": 0})
    board.add("alertlist", "Alerts", "Alerts of holdfast that fire now.", [], w=12)
    return board


def column(name, **properties):
    return {"matcher": {"id": "byName", "options": name}, "properties": [{"id": key, "value": value} for key, value in properties.items()]}


def run():
    board = Board("holdfast-run", "holdfast: one run", "Everything about one run while it trains.", multi=False)
    rate = "[$__rate_interval]"
    board.mark("attempt begins", f"changes(holdfast_run_attempt{{{RUN}}}[1m]) > 0", "#8b98a9", "attempt begins")
    board.mark("plan changed", f"sum(increase(holdfast_strategy_changes_total{{{RUN}}}[1m])) > 0", "#8e5bd0", "plan changed")
    board.mark("out of memory", f"sum(increase(holdfast_oom_events_total{{{RUN}}}[1m])) > 0", "#cc3d3d", "out of memory")
    board.row("Overview")
    board.add("stat", "State", "What the run says of itself.", [(state_number(RUN, "run"), "{{run}}")], w=4, h=5,
              defaults=state_mappings(), options=OPTIONS["stat"] | {"graphMode": "none"})
    board.add("stat", "Done", "Share of the target.", [(f"holdfast_run_update{{{RUN}}} / holdfast_target_updates{{{RUN}}}", "done")],
              unit="percentunit", w=4, h=5, defaults={"min": 0, "max": 1})
    board.add("stat", "Time left", "At the speed of the last minutes.",
              [(f"(holdfast_target_updates{{{RUN}}} - holdfast_run_update{{{RUN}}}) / (rate(holdfast_updates_total{{{RUN}}}{rate}) > 0)", "left")],
              unit="s", w=4, h=5)
    board.add("stat", "Last checkpoint, ago", "Work that would be lost now.",
              [(f"time() - holdfast_checkpoint_last_success_timestamp_seconds{{{RUN}}}", "age")], unit="s", w=4, h=5,
              defaults=thresholds(("green", None), ("orange", 3600), ("red", 7200)))
    board.add("stat", "Attempt", "Processes that have worked on this generation.", [(f"holdfast_run_attempt{{{RUN}}}", "attempt")], w=4, h=5)
    board.add("stat", "Epoch", "Epochs completed over all attempts.", [(f"holdfast_run_epoch{{{RUN}}}", "epoch")], w=4, h=5)
    board.add("table", "What trains", "Build, device and strategies.",
              [(f"holdfast_run_info{{{RUN}}}", "run"), (f"holdfast_build_info{{{RUN}}}", "build")], w=24, h=5)
    board.row("Learning")
    board.add("timeseries", "Loss", "Training loss of the last applied window, and the evaluation's.",
              [(f"holdfast_train_loss{{{RUN}}}", "training"), (f'holdfast_eval_metric{{{RUN},metric="loss"}}', "evaluation")], w=12,
              unit="none", defaults=LINE)
    board.add("timeseries", "Evaluation", "All scores of the last evaluation.", [(f"holdfast_eval_metric{{{RUN}}}", "{{metric}}")], w=12,
              unit="none", defaults=LINE)
    board.add("timeseries", "Learning rate", "Of the last window.", [(f"holdfast_learning_rate{{{RUN}}}", "learning rate")], unit="none",
              defaults=LINE)
    board.add("timeseries", "Gradient norm", "Before clipping.", [(f"holdfast_grad_norm{{{RUN}}}", "norm")], unit="none", defaults=LINE)
    board.add("timeseries", "Loss scale", "Under fp16 only.", [(f"holdfast_loss_scale{{{RUN}}}", "scale")], unit="none", defaults=LINE)
    board.add("timeseries", "Dropped windows", "Windows that became no update, losses or gradients that were not finite, "
              "and rollbacks.",
              [(f"sum by (reason) (increase(holdfast_skipped_updates_total{{{RUN}}}{rate}))", "{{reason}}"),
               (f"sum by (kind) (increase(holdfast_nonfinite_total{{{RUN}}}{rate}))", "non-finite {{kind}}"),
               (f"sum by (reason) (increase(holdfast_rollbacks_total{{{RUN}}}{rate}))", "rollback: {{reason}}")], w=12, defaults=LINE)
    board.add("timeseries", "Skipped samples", "Corrupt samples left out.",
              [(f"increase(holdfast_skipped_samples_total{{{RUN}}}{rate})", "samples")], w=12, defaults=LINE)
    board.row("Speed")
    board.add("timeseries", "Throughput", "Updates and samples a second.",
              [(f"rate(holdfast_updates_total{{{RUN}}}{rate})", "updates"), (f"rate(holdfast_samples_total{{{RUN}}}{rate})", "samples")],
              unit="ops", defaults=LINE)
    quantile = lambda share, phase: (f'histogram_quantile({share}, sum by (le) (rate(holdfast_update_duration_seconds_bucket'
                                     f'{{{RUN},phase="{phase}"}}{rate})))')
    board.add("timeseries", "Time of an update", "Computing it: half of the updates are faster than p50.",
              [(quantile(0.5, "compute"), "p50"), (quantile(0.95, "compute"), "p95"), (quantile(0.99, "compute"), "p99"),
               (quantile(0.95, "data"), "p95 waiting for data")], unit="s", defaults=LINE)
    board.add("timeseries", "Stages", "Shares of the training thread's time.",
              [(f"sum by (stage) (rate(holdfast_stage_seconds_total{{{RUN}}}{rate})) / on () group_left () "
                f"sum(rate(holdfast_stage_seconds_total{{{RUN}}}{rate}))", "{{stage}}")], unit="percentunit", defaults=STACK)
    board.add("timeseries", "Epochs", "Epochs completed by this process.", [(f"holdfast_epochs_total{{{RUN}}}", "epochs")], w=8, defaults=LINE)
    board.add("timeseries", "Figures of plugins", "What components report under names of their own.",
              [(f"holdfast_component_value{{{RUN}}}", "{{component}} {{name}}")], w=16, unit="none", defaults=LINE)
    board.row("Memory")
    board.add("timeseries", "Device memory", "Allocated, reserved and peak against the budget.",
              [(f'holdfast_memory_allocated_bytes{{{RUN},domain="device"}}', "allocated"),
               (f'holdfast_memory_reserved_bytes{{{RUN},domain="device"}}', "reserved"),
               (f'holdfast_memory_peak_allocated_bytes{{{RUN},domain="device"}}', "peak"),
               (f'holdfast_memory_budget_bytes{{{RUN},domain="device"}}', "budget")], unit="bytes", w=12, defaults=LINE | {"min": 0})
    board.add("timeseries", "Host memory", "Of the process, and of tensors on the host.",
              [(f"holdfast_memory_resident_bytes{{{RUN}}}", "resident"), (f"holdfast_memory_peak_resident_bytes{{{RUN}}}", "peak resident"),
               (f'holdfast_memory_allocated_bytes{{{RUN},domain="host"}}', "host tensors"),
               (f'holdfast_memory_budget_bytes{{{RUN},domain="host"}}', "host budget")], unit="bytes", w=12, defaults=LINE | {"min": 0})
    board.add("timeseries", "Micro-batches", "What those looked at needed (memory.sample_every).",
              [(f"holdfast_micro_batch_allocated_bytes{{{RUN}}}", "allocated"), (f"holdfast_micro_batch_peak_bytes{{{RUN}}}", "peak"),
               (f"holdfast_micro_batch_reserved_bytes{{{RUN}}}", "reserved")], unit="bytes", defaults=LINE | {"min": 0})
    board.add("timeseries", "Out of memory", "Times that memory ran out, by what was tried then.",
              [(f"sum by (action) (increase(holdfast_oom_events_total{{{RUN}}}{rate}))", "{{action}}")], defaults=LINE)
    board.add("timeseries", "Changes of the plan", "By the memory ladder, by field.",
              [(f"sum by (to) (increase(holdfast_strategy_changes_total{{{RUN}}}{rate}))", "{{to}}")], defaults=LINE)
    board.row("Checkpoints")
    board.add("timeseries", "Time to write", "Half, and nineteen of twenty, took less.",
              [(f'histogram_quantile(0.5, sum by (le) (increase(holdfast_checkpoint_duration_seconds_bucket{{{RUN},op="save"}}[1h])))', "p50"),
               (f'histogram_quantile(0.95, sum by (le) (increase(holdfast_checkpoint_duration_seconds_bucket{{{RUN},op="save"}}[1h])))', "p95")],
              unit="s", defaults=LINE)
    board.add("timeseries", "Size and room", "Bytes of the last checkpoint, and free bytes of its file system.",
              [(f"holdfast_checkpoint_size_bytes{{{RUN}}}", "checkpoint"), (f"holdfast_checkpoint_filesystem_free_bytes{{{RUN}}}", "free")],
              unit="bytes", defaults=LINE | {"min": 0})
    board.add("timeseries", "Failures", "Checkpoints that could not be written, and those left out because one was still being written.",
              [(f"sum by (reason) (increase(holdfast_checkpoint_failures_total{{{RUN}}}{rate}))", "{{reason}}"),
               (f"increase(holdfast_checkpoint_missed_total{{{RUN}}}{rate})", "left out")], defaults=LINE)
    board.row("Process")
    board.add("timeseries", "CPU", "Cores in use.", [(f"rate(process_cpu_seconds_total{{{RUN}}}{rate})", "cores")], unit="none", w=6, defaults=LINE)
    board.add("timeseries", "Descriptors and threads", "Open descriptors, their limit, threads.",
              [(f"process_open_fds{{{RUN}}}", "open"), (f"process_max_fds{{{RUN}}}", "limit"), (f"process_threads{{{RUN}}}", "threads")], w=6,
              defaults=LINE)
    board.add("timeseries", "Log", "Messages by level.",
              [(f"sum by (level) (increase(holdfast_log_messages_total{{{RUN}}}{rate}))", "{{level}}")], w=6, defaults=LINE)
    board.add("timeseries", "Deliveries that failed", "Of metrics, by sink.",
              [(f"sum by (sink) (increase(holdfast_metrics_push_failures_total{{{RUN}}}{rate}))", "{{sink}}")], w=6, defaults=LINE)
    return board


def postmortem():
    board = Board("holdfast-postmortem", "holdfast: post-mortem", "Why runs ended, and what was before. `holdfast report` and the run's "
                  "folder have the rest.")
    board.row("What happened")
    board.add("bargauge", "Failures by cause", "Since the run's home was made.",
              [(f"sum by (cause) (holdfast_run_failures_total{{{RUN}}}) > 0", "{{cause}}")], w=8, defaults={"decimals": 0, "min": 0})
    board.add("timeseries", "Attempts by outcome", "In each hour.",
              [(f"sum by (outcome) (increase(holdfast_run_attempts_total{{{RUN}}}[1h])) > 0", "{{outcome}}")], w=16,
              defaults={"custom": {"drawStyle": "bars", "fillOpacity": 70, "stacking": {"mode": "normal", "group": "A"}}, "decimals": 0})
    board.add("timeseries", "Restarts by the supervisor", "In each hour, by the cause of the failure before.",
              [(f"sum by (cause) (increase(holdfast_supervisor_restarts_total{{{RUN}}}[1h])) > 0", "{{cause}}")], w=24, h=6,
              defaults={"custom": {"drawStyle": "bars", "fillOpacity": 70, "stacking": {"mode": "normal", "group": "A"}}, "decimals": 0})
    board.add("table", "Last ends", "Exit code, duration and time of the last process of each run.", [
        (f"max by (run) (holdfast_run_last_exit_code{{{RUN}}})", "exit"),
        (f"max by (run) (holdfast_run_last_duration_seconds{{{RUN}}})", "duration"),
        (f"1000 * max by (run) (holdfast_run_start_timestamp_seconds{{{RUN}}})", "began"),
        (f"1000 * max by (run) (holdfast_run_end_timestamp_seconds{{{RUN}}})", "ended")], w=24, h=7, transformations=[
        {"id": "joinByField", "options": {"byField": "run", "mode": "outer"}},
        {"id": "organize", "options": {"excludeByName": {f"Time {i}": True for i in range(1, 5)} | {"Time": True}, "renameByName": {
            "Value #A": "exit code", "Value #B": "duration", "Value #C": "began", "Value #D": "ended"}}}],
        overrides=[column("duration", unit="s"), column("began", unit="dateTimeAsIso"), column("ended", unit="dateTimeAsIso")])
    board.row("Before the end")
    board.add("state-timeline", "States", "As the runs told them.", [(state_number(RUN, "run"), "{{run}}")], w=24, h=6, defaults=state_mappings())
    board.add("timeseries", "Memory", "Device memory against its budget, and the process.",
              [(f'holdfast_memory_allocated_bytes{{{RUN},domain="device"}}', "{{run}} device"),
               (f'holdfast_memory_budget_bytes{{{RUN},domain="device"}}', "{{run}} budget"),
               (f"process_resident_memory_bytes{{{RUN}}}", "{{run}} process")], unit="bytes", w=12, defaults=LINE | {"min": 0})
    board.add("timeseries", "Since the last update", "A line that climbs is a run that stands.",
              [(f"time() - holdfast_last_update_timestamp_seconds{{{RUN}}}", "{{run}}")], unit="s", w=12, defaults=LINE)
    board.add("timeseries", "Loss", "Training loss.", [(f"holdfast_train_loss{{{RUN}}}", "{{run}}")], unit="none", w=12, defaults=LINE)
    board.add("timeseries", "Errors and warnings", "Messages of the log.",
              [(f'sum by (run, level) (increase(holdfast_log_messages_total{{{RUN},level=~"warning|error"}}[$__rate_interval]))', "{{run}} {{level}}")],
              w=12, defaults=LINE)
    return board


def text_of(board):
    return json.dumps(board.model(), indent=1, ensure_ascii=False) + "\n"


def files():
    return {"overview.json": text_of(overview()), "run.json": text_of(run()), "postmortem.json": text_of(postmortem())}


def main():
    different = [name for name, text in files().items()
                 if not (FOLDER / name).exists() or (FOLDER / name).read_text(encoding="utf-8") != text]
    if "--check" in sys.argv[1:]:
        print("\n".join(f"dashboards/{name} is not what generate.py writes" for name in different), end="\n" if different else "")
        return 1 if different else 0
    FOLDER.mkdir(exist_ok=True)
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
