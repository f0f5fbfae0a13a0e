"""mtf infer: the same tokens on any mesh, as they come; prompts and checkpoints it refuses."""

import socket
import subprocess

from harness import ENVIRONMENT, LM, SMALL_LM, Case, command, main, sets

ALONE = ["mesh={}", "layout={}"]
GREEDY = SMALL_LM + ["infer={temperature: 0, max_tokens: 24}", "train.checkpoint.directory=run"]
PROMPT = "In the "

# `tilt` is read by the loss alone.
TILTED = """
mtf: 1
name: tilted
dims: {batch: 4, length: 8, d: 8, vocab: 256}
model:
  inputs: {tokens: {dims: [batch, length], dtype: i32}, targets: {dims: [batch, length], dtype: i32}}
  params: {table: [vocab, d], tilt: [vocab]}
  steps:
    - row: {embedding: [table, tokens], over: vocab}
    - logits: {einsum: [row, table], to: [batch, length, vocab]}
    - tilted: {add: [logits, tilt]}
    - loss: {cross_entropy: [tilted, targets], over: vocab}
  loss: loss
  outputs: {logits: logits}
data: {synthetic: {tokens: {uniform: vocab}, targets: {uniform: vocab}}}
train: {steps: 1, optimizer: {sgd: {learning_rate: 0.1}}}
infer: {temperature: 0, max_tokens: 3}
"""


class Infer(Case):
    def setUp(self):
        super().setUp()
        self.run_mtf("train", LM, *sets(GREEDY + ALONE + ["train.steps=20"]))

    def infer(self, *arguments, values=(), **options):
        return self.run_mtf("infer", LM, *sets(GREEDY + list(values)), *arguments, **options)

    def test_same_tokens_on_any_mesh(self):
        alone = self.infer("--prompt", PROMPT, values=ALONE).stdout
        self.assertTrue(alone.startswith(PROMPT.encode()))
        self.assertEqual(len(alone), len(PROMPT) + 24 + 1)
        self.assertEqual(self.infer(values=ALONE, stdin=PROMPT.encode()).stdout, alone)
        meshes = {
            "of the spec": (4, []),
            "of infer": (
                2,
                ["infer.mesh={model: 2}", "infer.layout={heads: model, d_ff: model, vocab: model}"],
            ),
            "read from standard input": (
                2,
                ["mesh={model: 2}", "layout={heads: model, vocab: model}"],
            ),
        }
        for name, (ranks, values) in meshes.items():
            with self.subTest(mesh=name):
                words = [] if "input" in name else ["--prompt", PROMPT]
                done = self.infer(*words, values=values, ranks=ranks, stdin=PROMPT.encode())
                self.assertEqual(done.stdout, alone)
        self.assertEqual(
            self.infer("--prompt", PROMPT, "--max-tokens", "3", values=ALONE).stdout,
            alone[: len(PROMPT) + 3] + b"\n",
        )

    def test_a_mesh_outside_mpirun_is_one_rank(self):
        done = self.infer("--prompt", PROMPT)
        self.assertEqual(done.stdout, self.infer("--prompt", PROMPT, values=ALONE).stdout)
        self.assertIn("the mesh data=2, model=2 is taken as one rank", done.stderr.decode())
        self.assertEqual(self.infer("--prompt", PROMPT, values=ALONE).stderr, b"")

    def test_samples_depend_on_the_seed_alone(self):
        def sample(seed, **options):
            mesh = (
                ALONE
                if "ranks" not in options
                else ["mesh={model: 2}", "layout={heads: model, vocab: model}"]
            )
            return self.infer(
                "--prompt",
                PROMPT,
                values=mesh
                + [f"infer={{temperature: 1.0, top_k: 40, max_tokens: 24, seed: {seed}}}"],
                **options,
            ).stdout

        self.assertEqual(sample(1), sample(1, ranks=2))
        self.assertNotEqual(sample(1), sample(2))

    def test_tokens_are_written_one_by_one(self):
        # A packet socket keeps the border of every write.
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            done = subprocess.run(
                command(["infer", LM, *sets(GREEDY + ALONE), "--prompt", PROMPT], None),
                cwd=self.directory,
                env=ENVIRONMENT,
                stdout=theirs,
                timeout=60,
            )
            theirs.close()
            packets = list(iter(lambda: ours.recv(4096), b""))
        self.assertEqual(done.returncode, 0)
        self.assertGreaterEqual(len(packets), 24)

    def test_prompts_that_cannot_be_continued(self):
        for prompt in ("", "x" * 32):
            for mesh, ranks in ((ALONE, None), ([], 4)):
                with self.subTest(prompt=prompt, ranks=ranks):
                    done = self.infer("--prompt", prompt, values=mesh, ranks=ranks, expect=4)
                    self.assert_refused(
                        done, f"the prompt has {len(prompt)} tokens; it may have 1 to 31"
                    )
                    self.assertEqual(done.stdout, b"")
        longest = self.infer("--prompt", "x" * 31, values=ALONE)
        self.assertEqual(len(longest.stdout), 32 + 1)

    def test_checkpoints_that_do_not_fit(self):
        done = self.infer("--prompt", PROMPT, "--checkpoint", "nowhere", values=ALONE, expect=4)
        self.assert_refused(done, "nowhere: expected a checkpoint")
        done = self.infer(
            "--prompt",
            PROMPT,
            ranks=4,
            expect=4,
            values=["dims.layers=3", "dims.d_ff=128", "train.checkpoint.directory=run"],
        )
        self.assert_refused(
            done,
            "run/step_20 is a checkpoint of another model",
            "'parameter:layers[2]/mlp/w1'",
            "'parameter:layers[0]/mlp/w1' is expected as",
            "found as",
        )

    def test_a_model_of_fewer_parameters_than_the_checkpoint(self):
        fewer = ["dims.layers=1", "train.checkpoint.directory=run"]
        lacks = ("run/step_20 is a checkpoint of another model: 8 not expected: ", "'parameter:layers[1]/mlp/w1'")
        self.assert_refused(self.infer("--prompt", PROMPT, values=fewer + ALONE, expect=4), *lacks)
        for name in ("eval", "train"):
            more = ["--resume"] if name == "train" else []
            done = self.run_mtf(name, LM, *sets(GREEDY + ALONE + fewer), *more, expect=4)
            with self.subTest(command=name):
                self.assert_refused(done, "'parameter:layers[1]/mlp/w1'")

    def test_parameters_that_decoding_does_not_need(self):
        self.write("tilted.yaml", TILTED)
        self.run_mtf("train", "tilted.yaml")
        done = self.run_mtf("infer", "tilted.yaml", "--prompt", "ab")
        self.assertEqual(len(done.stdout), 2 + 3 + 1)

    def test_what_validate_and_plan_say_of_inference(self):
        for value, message in {
            "infer.along=lenght": "the model has no dim 'lenght' to decode",
            "infer.tokens=toks": "the model has no input 'toks' to decode",
            "infer.logits=logit": "the model has no output 'logit' to decode",
        }.items():
            for name in ("validate", "plan"):
                with self.subTest(command=name, value=value):
                    done = self.run_mtf(name, LM, *sets(GREEDY + ALONE + [value]), expect=1)
                    self.assert_refused(done, message, "did you mean '")
            self.assert_refused(self.infer("--prompt", PROMPT, values=ALONE + [value], expect=1), message)


if __name__ == "__main__":
    main()
