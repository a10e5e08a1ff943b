"""Gives the bench made-up rows and sees what it says of them: unequal work, limits, what a partial run keeps."""
import contextlib
import io
import json
import pathlib
import tempfile
import tomllib
import unittest

import activation
import peers
import report
import rows
import run
from first_weights import first_weights
from sides import toml
from works import works


def bare_row(**changes):
    row = dict(work="mlp", title="mlp", threads=1, order="file", optimizer="fused", pairs=3, bare_us=10.0,
               holdfast_us=10.0, ratio=1.0, ratio_low=0.9, ratio_high=1.1, extra_us=-1.0, extra_cpu_us=0.0,
               start_bare=0.2, start_holdfast=0.3, start_ratio=1.5, rss_bare_mib=1.0, rss_holdfast_mib=1.0,
               loss_bare=2.0, loss_holdfast=2.0, updates_bare=60, updates_holdfast=60, load=0.1)
    return {**row, **changes}


def peer_row(**changes):
    row = dict(work="peers", title="mlp", peer="plain", threads=1, rounds=3, updates=1600, batch=64, limit=1.3,
               peer_per_s=10.0, holdfast_per_s=14.0, ratio=1.4, ratio_low=1.3, ratio_high=1.5, start_peer=3.0,
               start_holdfast=0.3, rss_peer_mib=500.0, rss_holdfast_mib=170.0, loss_peer=0.1, loss_holdfast=0.2,
               load=0.1)
    return {**row, **changes}


def activation_row(**changes):
    row = activation.row_of(activation.shape_of(short=False), 2,
                            dict(plain=[1.0, 1.0, 1.0], checkpointing=[1.2, 1.3, 1.4]),
                            dict(plain=100 * 2**20, checkpointing=20 * 2**20),
                            [dict(seconds=1.3, activation=25 * 2**20)] * 3)
    return dict(row, load=0.1, **changes)


class SameWork(unittest.TestCase):
    def test_losses_that_differ_by_more_than_the_order_of_sums_end_the_bench(self):
        self.assertAlmostEqual(rows.check_same_work([bare_row(loss_holdfast=2.0001)]), 5e-5)
        with self.assertRaises(SystemExit) as end:
            rows.check_same_work([bare_row(loss_holdfast=2.0006)])
        self.assertEqual(str(end.exception), "bench: not the same work: mlp, 1 thread(s), file: last loss 2.0 bare, "
                                             "2.0006 in holdfast, which is more than 0.0001 of it apart")

    def test_losses_of_shuffled_rows_are_not_compared(self):
        self.assertEqual(rows.check_same_work([bare_row(order="shuffled", loss_holdfast=9.0)]), 0)

    def test_another_number_of_updates_ends_the_bench(self):
        with self.assertRaises(SystemExit) as end:
            rows.check_same_work([bare_row(order="shuffled", updates_holdfast=59)])
        self.assertEqual(str(end.exception), "bench: not the same work: mlp, 1 thread(s), shuffled: 60 updates bare, 59 "
                                             "in holdfast")

    def test_a_peer_that_hardly_learned_ends_the_bench(self):
        peers.check_peer_loss([peer_row(loss_peer=0.4)])
        with self.assertRaises(SystemExit) as end:
            peers.check_peer_loss([peer_row(loss_peer=0.6)])
        self.assertEqual(str(end.exception), "bench: not the same work: after 1600 updates the loss is 0.600 at plain "
                                             "and 0.200 in holdfast, more than 0.3 apart")

    def test_a_peer_with_another_batch_ends_the_bench(self):
        side = dict(seconds=1.0, updates=1600, last_loss=0.1, start_seconds=1.0, peak_rss_kib=1024)
        work = peers.peer_works("/nowhere", short=False)["peers"]
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as end:
            peers.row_of("plain", work, {"plain": [dict(side, batch=32)], "holdfast": [side]})
        self.assertEqual(str(end.exception), "bench: not the same work: 1600 updates of 64 asked, plain did batches of "
                                             "32, holdfast 1600 updates")


class Report(unittest.TestCase):
    def test_a_time_is_held_from_above_and_a_rate_from_below(self):
        shuffled = dict(order="shuffled")
        met = [f["met"] for f in report.figures([bare_row(ratio=1.02, **shuffled), bare_row(ratio=1.03, **shuffled)],
                                                [peer_row(ratio=1.3), peer_row(ratio=1.29)])]
        self.assertEqual(met, [True, False, True, False])

    def test_the_first_table_shows_value_quartiles_and_limit(self):
        found = report.figures([bare_row(order="shuffled")], [peer_row()])
        self.assertEqual(list(report.figure_table(found))[2:], [
            "| mlp, 1 thread: time of an update against the bare loop | 1.00 × (0.90–1.10) | ≤ 1.02 × | met |",
            "| mlp, 1 thread: samples a second against a plain PyTorch loop over preloaded tensors | 1.40 × (1.30–1.50) "
            "| ≥ 1.3 × | met |"])

    def test_every_table_has_as_many_cells_as_heads(self):
        for table in (report.bare_table([bare_row()]), report.peer_table([peer_row()]),
                      report.activation_table([activation_row()])):
            self.assertEqual(len({line.count("|") for line in table}), 1)

    def test_quartiles_stand_as_far_from_both_ends(self):
        self.assertEqual(rows.spread([7, 1, 3, 5, 2, 6, 4]), (2, 4, 6))
        self.assertEqual(rows.spread([3]), (3, 3, 3))


class Activation(unittest.TestCase):
    def test_each_figure_is_held_to_its_limit(self):
        found = report.figures([], [], [activation_row()])
        self.assertEqual([(f["value"], f["limit"], f["met"]) for f in found],
                         [(1.3, 1.33, True), (0.2, 0.25, True), (1.0, 1.02, True), (0.8, 1.0, True)])
        missed = activation_row()
        missed.update(time_ratio=1.34, memory_ratio=0.26, torch_time_ratio=1.03, torch_memory_ratio=1.01)
        self.assertEqual([f["met"] for f in report.figures([], [], [missed])], [False] * 4)
        self.assertEqual(found[1]["text"], "gpt of 8 blocks, width 512, context 256, batch 8, 2 threads: activation peak with "
                                           "activation_checkpointing against without")

    def test_without_pytorch_there_are_no_figures_against_it(self):
        row = activation.row_of(activation.shape_of(short=True), 1, dict(plain=[1.0], checkpointing=[1.2]),
                                dict(plain=10, checkpointing=2), None)
        self.assertEqual(len(report.figures([], [], [row])), 2)
        self.assertEqual(len({line.count("|") for line in report.activation_table([row])}), 1)

    def test_every_other_round_goes_the_other_way(self):
        order = []
        programs = {name: lambda name=name: order.append(name) for name in "abc"}
        with contextlib.redirect_stderr(io.StringIO()):
            activation.take_rounds(programs, 2)
        self.assertEqual("".join(order), "abccba")


class PartialRun(unittest.TestCase):
    def keep(self, folder, bare, peer, activations=()):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return run.keep(pathlib.Path(folder), bare, peer, activations=activations)

    def test_rows_that_were_not_measured_anew_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            self.keep(folder, [bare_row(work="gpt", ratio=2.0), bare_row(ratio=2.0)], [peer_row()], [activation_row()])
            results = self.keep(folder, [bare_row(ratio=1.5)], [])
            self.assertEqual([(row["work"], row["ratio"]) for row in results["bare"]], [("mlp", 1.5), ("gpt", 2.0)])
            self.assertEqual(len(results["peers"]), 1)
            self.assertEqual(len(results["activation"]), 1)
            self.assertEqual(json.loads((pathlib.Path(folder) / "results.json").read_text()), results)

    def test_rows_that_do_not_exist_are_refused(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit):
            run.arguments_of(["--works", "mlp,gtp"])
        self.assertIn("--works: no rows 'gtp'; there are mlp, digits, convnet, gpt, peers, peers-gpt, activation", said.getvalue())

    def test_a_folder_that_is_not_prepared_is_named_before_anything_runs(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(SystemExit) as end:
            peers.PeersFolder(folder)
        real = pathlib.Path(folder).resolve()
        self.assertEqual(str(end.exception), f"bench: {real} is not prepared: {real}/venv/bin/python is missing; run its "
                                             "setup.sh first")


class Inputs(unittest.TestCase):
    def test_tables_of_a_recipe_are_toml(self):
        table = dict(plugin="mlp", hidden=[512, 10], lr=1e-3, tied=False)
        self.assertEqual(tomllib.loads(toml(table)), table)

    def test_first_weights_leave_no_gap_between_tensors(self):
        with tempfile.TemporaryDirectory() as folder:
            for work in works(folder, short=True).values():
                raw = pathlib.Path(first_weights(pathlib.Path(folder), work)).read_bytes()
                size = int.from_bytes(raw[:8], "little")
                at = 0
                for entry in json.loads(raw[8 : 8 + size]).values():
                    self.assertEqual(entry["data_offsets"][0], at)
                    at = entry["data_offsets"][1]
                self.assertEqual(8 + size + at, len(raw))


if __name__ == "__main__":
    unittest.main()
