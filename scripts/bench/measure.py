"""Runs of mtf between measurements of the machine's peak; prints medians and their share of the peak.
Usage: measure.py BUILD [--rounds N] [--steps N] [--only PART]... with parts one, data, tensor, start, decode

Wall times suffer when other programs use the cores, so each figure is also given by CPU time: the
seconds that all ranks used, waiting included, against the peak of one thread."""
import argparse, json, os, re, statistics, subprocess, sys, tempfile, time

# w1: 6 * parameters * tokens of the products, attention's two, the logits; forward and backward.
D, LAYERS, FF, VOCAB, LENGTH, BATCH = 512, 6, 2048, 8192, 256, 8
TOKENS = BATCH * LENGTH
FLOPS = TOKENS * (6 * LAYERS * (4 * D * D + 2 * D * FF) + 12 * D * LENGTH * LAYERS + 6 * D * VOCAB)

TWO = ["--set", "mesh={all: 2}", "--set"]
RUNS = {"one": (1, []), "data": (2, TWO + ["layout={batch: all}"]),
        "tensor": (2, TWO + ["layout={heads: all, d_ff: all, vocab: all}"])}


def cpu_seconds(root):
  """User and system time of a process and its descendants, so far."""
  parent, used = {}, {}
  for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
      fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    except OSError:
      continue
    parent[int(pid)], used[int(pid)] = int(fields[1]), int(fields[11]) + int(fields[12])
  ours = lambda p: p == root or (p in parent and ours(parent[p]))
  return sum(u for p, u in used.items() if ours(p)) / os.sysconf("SC_CLK_TCK")


def train(mtf, spec, ranks, options, steps):
  """Seconds from the start of the process to the first step; wall and CPU seconds of each later one."""
  launcher = ["mpirun", "-n", str(ranks), "--oversubscribe"] if ranks > 1 else []
  with tempfile.TemporaryDirectory() as directory:
    start = time.perf_counter()
    run = subprocess.Popen(launcher + [mtf, "train", spec, "--set", f"train.steps={steps}", "--set", "train.log_every=1",
                                       "--set", f"train.checkpoint.directory={directory}/run"] + options,
                           stdout=subprocess.PIPE, text=True)
    marks = [(time.perf_counter(), cpu_seconds(run.pid)) for line in run.stdout if line.startswith("step ")]
    if run.wait() or len(marks) < steps:
      sys.exit(f"mtf train {spec} {options} failed")
    first = json.loads(open(f"{directory}/run/metrics.jsonl").readline())["seconds"]
  return marks[0][0] - start - first, [(b[0] - a[0], b[1] - a[1]) for a, b in zip(marks, marks[1:])]


TEXT = ["--set", "data={text: specs/data/text/*.txt, tokenizer: bytes}"]


def tokens_per_second(mtf, checkpoint):
  """Of decoding one sequence with w1: a long run less a short one."""
  seconds = []
  for tokens in (20, 220):
    start = time.perf_counter()
    subprocess.run([mtf, "infer", "specs/w1.yaml", *TEXT, "--set", "infer.temperature=0", "--checkpoint", checkpoint,
                    "--prompt", "In the beginning", "--max-tokens", str(tokens)], check=True, stdout=subprocess.DEVNULL)
    seconds.append(time.perf_counter() - start)
  return 200 / (seconds[1] - seconds[0])


def main():
  p = argparse.ArgumentParser()
  p.add_argument("build")
  p.add_argument("--rounds", type=int, default=3)
  p.add_argument("--steps", type=int, default=4)
  p.add_argument("--only", action="append", choices=[*RUNS, "start", "decode"])
  a = p.parse_args()
  mtf = f"{a.build}/mtf"
  wanted = a.only or [*RUNS, "start", "decode"]
  peaks, starts, rates, times = [], [], [], {r: [] for r in RUNS}

  def machine():
    out = subprocess.run([f"{a.build}/tests/kernels/bench_machine", "1", "2"], capture_output=True, text=True, check=True)
    peaks.append([float(x) for x in re.findall(r"([0-9.]+) G", out.stdout)])

  machine()
  for _ in range(a.rounds):
    for name in filter(RUNS.get, wanted):
      times[name] += train(mtf, "specs/w1.yaml", *RUNS[name], a.steps)[1]
      machine()
    if "start" in wanted:
      one_rank = ["--set", "mesh={}", "--set", "layout={}"]
      starts += [train(mtf, "specs/digits_mlp.yaml", 1, one_rank, 1)[0] for _ in range(3)]
  if "decode" in wanted:
    with tempfile.TemporaryDirectory() as directory:
      subprocess.run([mtf, "train", "specs/w1.yaml", *TEXT, "--set", "train.steps=1", "--set",
                      f"train.checkpoint.directory={directory}/run"], check=True, stdout=subprocess.DEVNULL)
      for _ in range(a.rounds):
        rates.append(tokens_per_second(mtf, f"{directory}/run"))
        machine()
  peak1, read1, peak2, read2 = (statistics.median(x) for x in zip(*peaks))
  print(f"peak      1 thread {peak1:.1f} GFLOP/s, {read1:.1f} GB/s; 2 threads {peak2:.1f} GFLOP/s, {read2:.1f} GB/s")
  print(f"w1        {FLOPS / 1e9:.1f} GFLOP a step")
  for name in filter(times.get, times):
    wall, cpu = (statistics.median(x) for x in zip(*times[name]))
    least, least_cpu = (min(x) for x in zip(*times[name]))
    share, by_cpu = (lambda s: 100 * FLOPS / s / peak2 / 1e9), (lambda s: 100 * FLOPS / s / peak1 / 1e9)
    print(f"{name:9} {wall:.3f} s a step ({least:.3f} the best), {TOKENS / wall:.0f} tokens/s: {share(wall):.1f} % of the "
          f"peak ({share(least):.1f}); by CPU time {cpu:.2f} s: {by_cpu(cpu):.1f} % ({by_cpu(least_cpu):.1f})")
  if starts:
    print(f"start     {statistics.median(starts):.3f} s from process start to the first step of digits_mlp.yaml "
          f"({min(starts):.3f} the best)")
  if rates:
    read = max(read1, read2) * 1e9 / (4 * (LAYERS * (4 * D * D + 2 * D * FF) + D * VOCAB))
    rate = statistics.median(rates)
    print(f"decode    {rate:.0f} tokens/s at batch 1; reading the weights once a token at the memory's speed: "
          f"{read:.0f}, so {100 * rate / read:.0f} % of it")


main()
