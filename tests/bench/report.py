"""What the rows say: the figures that are promised, as a table for the README, and every row below. Measures nothing."""
from activation import LIMITS


def figure(text, value, unit, limit, at_least=False, low=None, high=None):
    met = value >= limit if at_least else value <= limit
    return dict(text=text, value=value, unit=unit, limit=limit, at_least=at_least, low=low, high=high, met=met)


def bare_figures(row):
    where = f"{row['title']}, {threads_text(row)}"
    if row["order"] != "shuffled" or row["optimizer"] != "fused":
        return
    if row["work"] in ("mlp", "gpt"):
        yield figure(f"{where}: time of an update against the bare loop", row["ratio"], "×", 1.02,
                     low=row["ratio_low"], high=row["ratio_high"])
    if row["work"] == "digits":
        yield figure(f"{where}: more an update than the bare loop", row["extra_us"], "µs", 15)
        yield figure(f"{where}: process start to first update against the bare program", row["start_ratio"], "×", 1.25)
        if "start_pytorch" in row:
            yield figure(f"{where}: process start to first update against a PyTorch script",
                         row["start_holdfast"] / row["start_pytorch"], "×", 0.2)


NAMES = dict(plain="a plain PyTorch loop over preloaded tensors", dataloader="a PyTorch loop with its DataLoader",
             lightning="Lightning", accelerate="Accelerate")


def peer_figures(row):
    if row["limit"] is not None:
        yield figure(f"{row['title']}, {threads_text(row)}: samples a second against {NAMES[row['peer']]}",
                     row["ratio"], "×", row["limit"], at_least=True, low=row["ratio_low"], high=row["ratio_high"])


ACTIVATION = [("time_ratio", "time of an update with activation_checkpointing against without"),
              ("memory_ratio", "activation peak with activation_checkpointing against without"),
              ("torch_time_ratio", "time of an update with activation_checkpointing against torch.utils.checkpoint"),
              ("torch_memory_ratio", "activation peak with activation_checkpointing against torch.utils.checkpoint")]


def activation_figures(row):
    for key, text in ACTIVATION:
        if key in row:
            yield figure(f"{row['title']}, {threads_text(row)}: {text}", row[key], "×", LIMITS[key],
                         low=row.get(f"{key}_low"), high=row.get(f"{key}_high"))


def figures(bare, peers, activation=()):
    kinds = ((bare, bare_figures), (peers, peer_figures), (activation, activation_figures))
    return [f for rows, figures_of in kinds for row in rows for f in figures_of(row)]


def threads_text(row):
    return f"{row['threads']} thread" + ("s" if row["threads"] > 1 else "")


def number(value, unit):
    return (f"{value:.1f} {unit}" if unit == "µs" else f"{value:.2f} {unit}").replace("-", "−")


def figure_table(found):
    yield "| | measured | limit | |"
    yield "|---|---|---|---|"
    for f in found:
        quartiles = "" if f["low"] is None else f" ({f['low']:.2f}–{f['high']:.2f})"
        yield (f"| {f['text']} | {number(f['value'], f['unit'])}{quartiles} | {'≥' if f['at_least'] else '≤'} "
               f"{f['limit']} {f['unit']} | {'met' if f['met'] else 'MISSED'} |")


def bare_table(rows):
    yield ("| work | threads | order | bare AdamW | pairs | bare µs | holdfast µs | ratio (quartiles) | extra µs | "
           "loop CPU extra µs | start s bare / holdfast | peak MiB bare / holdfast |")
    yield "|" + "---|" * 12
    for r in rows:
        yield (f"| {r['work']} | {r['threads']} | {r['order']} | {r['optimizer']} | {r['pairs']} | {r['bare_us']:.1f} | "
               f"{r['holdfast_us']:.1f} | {r['ratio']:.3f} ({r['ratio_low']:.3f}–{r['ratio_high']:.3f}) | "
               f"{r['extra_us']:.1f} | {r['extra_cpu_us']:.1f} | {r['start_bare']:.2f} / {r['start_holdfast']:.2f} | "
               f"{r['rss_bare_mib']:.0f} / {r['rss_holdfast_mib']:.0f} |")


def peer_table(rows):
    yield ("| work | peer | rounds | peer samples/s | holdfast samples/s | ratio (quartiles) | start s peer / holdfast | "
           "peak MiB peer / holdfast | updates × batch | last loss peer / holdfast |")
    yield "|" + "---|" * 10
    for r in rows:
        yield (f"| {r['title']} | {r['peer']} | {r['rounds']} | {r['peer_per_s']:.0f} | {r['holdfast_per_s']:.0f} | "
               f"{r['ratio']:.2f} ({r['ratio_low']:.2f}–{r['ratio_high']:.2f}) | {r['start_peer']:.2f} / "
               f"{r['start_holdfast']:.2f} | {r['rss_peer_mib']:.0f} / {r['rss_holdfast_mib']:.0f} | {r['updates']} × "
               f"{r['batch']} | {r['loss_peer']:.3f} / {r['loss_holdfast']:.3f} |")


def activation_table(rows):
    yield ("| work | threads | rounds | ms plain / checkpointing / torch | ratio to plain (quartiles) | ratio to torch "
           "(quartiles) | activation MiB plain / checkpointing / torch |")
    yield "|" + "---|" * 7
    for r in rows:
        torch = "torch_ms" in r
        ratio = (f"{r['torch_time_ratio']:.3f} ({r['torch_time_ratio_low']:.3f}–{r['torch_time_ratio_high']:.3f})"
                 if torch else "")
        yield (f"| {r['title']} | {r['threads']} | {r['rounds']} | {r['plain_ms']:.1f} / {r['checkpointing_ms']:.1f} / "
               f"{format(r['torch_ms'], '.1f') if torch else ''} | {r['time_ratio']:.3f} "
               f"({r['time_ratio_low']:.3f}–{r['time_ratio_high']:.3f}) | {ratio} | {r['plain_mib']:.1f} / "
               f"{r['checkpointing_mib']:.1f} / {format(r['torch_mib'], '.1f') if torch else ''} |")


def notes(results):
    bare, peers, activation = results["bare"], results["peers"], results["activation"]
    loads = [row["load"] for row in bare + peers + activation]
    if results["short"]:
        yield "A short run: it shows that everything works, and no figure of it means anything."
    yield f"Measured on {results['cpus']} cores; load average at the begin of the rows {min(loads):.1f} to {max(loads):.1f}."
    if any(row["order"] == "file" for row in bare):
        worst = max(abs(r["loss_holdfast"] - r["loss_bare"]) / abs(r["loss_bare"]) for r in bare
                    if r["order"] == "file")
        yield f"Same work as the bare loop: the last losses in file order differ by {worst:.1e} (relative) at most."
    if any("arithmetic" in row for row in peers):
        worst = max(row["arithmetic"] for row in peers if "arithmetic" in row)
        yield (f"Same work as the peers: from the same weights in file order their model and optimizer end at a loss that "
               f"differs by {worst:.1e} (relative).")
    if peers:
        yield ("holdfast reads samples on a thread beside the one that trains; the peers and the bare loop do so in the "
               "loop. It keeps images as bytes and divides them batch by batch; the peers keep floats, and their pixels "
               "have the mean taken off as well.")
    if any(row["work"] == "peers-gpt" for row in peers):
        yield "The peer's gpt has the exact GELU and other first weights; holdfast's GELU is the tanh form."


def markdown(results):
    blocks = [list(figure_table(results["figures"]))]
    if results["bare"]:
        blocks.append(list(bare_table(results["bare"])))
    if results["peers"]:
        blocks.append(list(peer_table(results["peers"])))
    if results["activation"]:
        blocks.append(list(activation_table(results["activation"])))
    blocks.append(list(notes(results)))
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"
