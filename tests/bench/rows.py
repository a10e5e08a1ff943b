"""Rows against the bare loop: interleaved pairs, compared by the median of their ratios."""
import statistics
import sys
import time

BEGAN = time.monotonic()


def say(text):
    print(f"[{time.monotonic() - BEGAN:5.0f} s] {text}", file=sys.stderr, flush=True)


def micros(result, work, key="seconds"):
    return 1e6 * result[key] / work.timed()


def spread(values):
    """Lower quartile, median, upper quartile."""
    values = sorted(values)
    return values[len(values) // 4], statistics.median(values), values[-(len(values) // 4) - 1]


def take_pairs(sides, count, warm, work, threads, order, optimizer):
    """[(bare, holdfast)]; which goes first alternates. Those that warm the machine up are thrown away."""
    result = []
    for number in range(warm + count):
        run = [lambda: sides.bare(work, threads, order, optimizer), lambda: sides.holdfast(work, threads, order)]
        first = number % 2
        done = {first: run[first](), 1 - first: run[1 - first]()}
        result.append((done[0], done[1]))
    return result[warm:]


def compare(sides, count, warm, work, threads, order, optimizer):
    say(f"{work.name}, {threads} thread(s), {order}, {optimizer}: {count} pair(s)")
    pairs = take_pairs(sides, count, warm, work, threads, order, optimizer)
    low, ratio, high = spread(h["seconds"] / b["seconds"] for b, h in pairs)
    median = statistics.median
    row = dict(
        work=work.name, title=work.title, threads=threads, order=order, optimizer=optimizer, pairs=count,
        bare_us=median(micros(b, work) for b, _ in pairs), holdfast_us=median(micros(h, work) for _, h in pairs),
        ratio=ratio, ratio_low=low, ratio_high=high,
        extra_us=median(micros(h, work) - micros(b, work) for b, h in pairs),
        extra_cpu_us=median(micros(h, work, "loop_cpu_seconds") - micros(b, work, "loop_cpu_seconds")
                            for b, h in pairs),
        start_bare=median(b["start_seconds"] for b, _ in pairs),
        start_holdfast=median(h["start_seconds"] for _, h in pairs),
        start_ratio=median(h["start_seconds"] / b["start_seconds"] for b, h in pairs),
        rss_bare_mib=max(b["peak_rss_kib"] for b, _ in pairs) / 1024,
        rss_holdfast_mib=max(h["peak_rss_kib"] for _, h in pairs) / 1024,
        loss_bare=pairs[0][0]["last_loss"], loss_holdfast=pairs[0][1]["last_loss"],
        updates_bare=pairs[0][0]["updates"], updates_holdfast=pairs[0][1]["updates"])
    say(f"  {row['bare_us']:.1f} us bare, {row['holdfast_us']:.1f} us holdfast, ratio {ratio:.4f}")
    return row


def rows_of(sides, work, threads, pairs, python):
    """All rows of one work: shuffled for the time, in file order for the proof of the same work."""
    few, warm = max(1, pairs // 5), 1 if pairs > 1 else 0
    many = max(1, pairs // 3) if work.name == "convnet" else pairs  # it has no limit to be sure of
    found = [compare(sides, many, warm, work, threads, "shuffled", "fused")]
    if work.net == "mlp":
        found.append(compare(sides, few, warm, work, threads, "file", "fused"))
    else:  # one pair proves the same work; that it takes no longer in this order, mlp says
        found.append(compare(sides, 1, 0, work, threads, "file", "fused"))
    if work.name == "mlp":
        found.append(compare(sides, few, warm, work, threads, "shuffled", "module"))
    if work.name == "digits" and python:
        starts = [sides.pytorch_start(python, work, threads) for _ in range(1 if pairs == 1 else 3)]
        found[0]["start_pytorch"] = statistics.median(starts)
    return found


def check_same_work(rows, limit=1e-4):
    """Both sides made the same number of updates; in file order they see the same batches and start from the same
    weights, so the last losses agree but for the order of sums. The largest relative difference; ends the program
    when it is more than `limit`."""
    worst = 0.0
    for row in rows:
        where = f"{row['work']}, {row['threads']} thread(s), {row['order']}"
        if row["updates_bare"] != row["updates_holdfast"]:
            sys.exit(f"bench: not the same work: {where}: {row['updates_bare']} updates bare, "
                     f"{row['updates_holdfast']} in holdfast")
        if row["order"] != "file":
            continue
        difference = abs(row["loss_holdfast"] - row["loss_bare"]) / abs(row["loss_bare"])
        worst = max(worst, difference)
        if difference > limit:
            sys.exit(f"bench: not the same work: {where}: last loss {row['loss_bare']} bare, {row['loss_holdfast']} "
                     f"in holdfast, which is more than {limit} of it apart")
    return worst
