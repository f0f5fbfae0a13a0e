"""Both laws under mpirun: layouts change no bit of losses and tensors, and plans say what runs."""

from harness import DIGITS, LM, SMALL_LM, Case, RunDirectory, main, sets

# Name: ranks, mesh, layout.
LM_LAYOUTS = {
    "data_2": (2, "{data: 2}", "{batch: data}"),
    "tensor_2": (2, "{model: 2}", "{heads: model, d_ff: model, vocab: model}"),
    "mixed_4": (
        4,
        "{data: 2, model: 2}",
        "[{batch: data}, {heads: model}, {d_ff: model}, {vocab: model}]",
    ),
    "sequence_4": (
        4,
        "{data: 2, model: 2}",
        "[{batch: data}, {heads: model}, {d_ff: model}, {vocab: model}, {length: 'model?'}]",
    ),
    "pods_8": (
        8,
        "{pod: 2, data: 2, model: 2}",
        "[{batch: [pod, data]}, {heads: model}, {d_ff: model}, {vocab: model}, {length: 'model?'}]",
    ),
}
DIGITS_LAYOUTS = {
    "batch": (4, "{all: 4}", "{batch: all}"),
    "hidden": (4, "{all: 4}", "{hidden: all}"),
    "both": (4, "{rows: 2, cols: 2}", "{batch: rows, hidden: cols}"),
}


class Laws(Case):
    def train(self, spec, values, name, ranks, mesh, layout):
        self.run_mtf(
            "train",
            spec,
            *sets(
                values + [f"mesh={mesh}", f"layout={layout}", f"train.checkpoint.directory={name}"]
            ),
            ranks=ranks,
        )
        run = RunDirectory(self.path(name))
        self.assert_plan_kept(run.record(), name)
        return run

    def assert_plan_kept(self, record, name):
        """Law 2: allocated, sent, and resident bytes are those of the plan."""
        self.assertEqual(record["allocated_bytes"], record["planned_bytes"], name)
        self.assertLess(
            abs(record["peak_resident_bytes"] - record["planned_bytes"]),
            0.1 * record["planned_bytes"] + 60e6,
            name,
        )
        runs = 0
        for program in ("init", "accumulate", "update", "eval"):
            for row in record[program]:
                self.assertEqual(
                    (row["sent_bytes"], row["sent_messages"]),
                    (row["planned_bytes"], row["planned_messages"]),
                    f"{name}: {row['instruction']}",
                )
                runs += row["runs"]
        self.assertGreater(runs, 0)

    def assert_same_in_all(self, spec, values, layouts, steps):
        """Law 1: every layout gives the losses and tensors of one rank."""
        alone = self.train(spec, values, "alone", None, "{}", "{}")
        expected = alone.tensors(steps)
        self.assertEqual(len(alone.losses()), steps + 1)
        for name, (ranks, mesh, layout) in layouts.items():
            with self.subTest(layout=name):
                run = self.train(spec, values, name, ranks, mesh, layout)
                self.assertEqual(run.losses(), alone.losses())
                tensors = run.tensors(steps)
                self.assertEqual(tensors.keys(), expected.keys())
                self.assertEqual([t for t in expected if tensors[t] != expected[t]], [])
                self.assertTrue(
                    any(
                        row["sent_bytes"] > 0
                        for row in run.record()["accumulate"] + run.record()["update"]
                    )
                )

    def test_language_model(self):
        self.assert_same_in_all(LM, SMALL_LM, LM_LAYOUTS, 5)

    def test_digits(self):
        self.assert_same_in_all(DIGITS, ["train.steps=5", "train.eval_every=5"], DIGITS_LAYOUTS, 5)

    def test_memory_of_a_larger_model(self):
        run = self.train(
            LM,
            ["train.steps=1", "data.validation=0.001", "dims.batch=32", "dims.length=256"],
            "larger",
            None,
            "{}",
            "{}",
        )
        self.assertGreater(run.record()["planned_bytes"], 100e6)


if __name__ == "__main__":
    main()
