#!/usr/bin/env python3
"""Everything that is published: scripts/campaign.py [--dry-run] [--resume] [--plan FILE] [--out DIR] [--host-label LABEL] [--only FOLDER...]
    [--accept FOLDER...]

Takes the steps of a plan (scripts/campaign/full.toml) in order. A step is a bench, with the arguments of `loadgen bench`, or
a command. Each writes one folder of DIR (results); that of a command gets an origin.json, which says what made it, and hashes of
its files, so that `loadgen verify` knows it. Of a bench that is done, the servers' logs are kept only where a run failed
or was invalid. In the end DIR/README.md has its index.
--dry-run prints runs, time and room of every step, and what this machine lacks; it builds loadgen and nothing else.
--resume goes on where an interrupted campaign stopped: finished steps and finished runs are kept. A bench begins with a folder that
is not there: one of another campaign has to be moved away.

Guarantees: one commit without changes, one plan, machines with as many cores of one architecture: a campaign that is resumed with
others is refused. A step is of one processor and one kernel: figures are compared within a folder, which names its machine. Later
commits may change what no program is made of (results, documents, tests); the programs still name the commit of the campaign.
DIR/campaign.json has them, the SHA-256 of loadgen, and machine, begin and end of every step. Nothing else is built or tested while a
bench runs; a bench begins when the machine is idle. Subjects take turns in random order (`loadgen bench`, from its seed).
Exit code: 0 complete; 1 a step failed, the others were taken; 2 wrong input; 130 interrupted.
"""
import argparse
import datetime
import glob
import hashlib
import json
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib

CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGET = os.path.join(CHECKOUT, os.environ.get("CARGO_TARGET_DIR", "target"))
STATE, QUESTIONS, README = "campaign.json", "questions.toml", "README.md"
ORIGIN, SUMS = "origin.json", "SHA256SUMS"
# A one-minute mean; an idle machine with a few daemons has less.
IDLE_LOAD = 0.7
IDLE_WITHIN_S = 600
# What a commit may change between two parts of a campaign, and the one file of it that is part of loadgen.
NOT_BUILT = ("results/", "docs/", "tests/", "loadgen/tests/", "benches/", ".ci/", "scripts/campaign.py", "README.md",
             "CHANGELOG.md", "CONTRIBUTING.md", "deploy/README.md", "league/controller-runtime/README.md",
             "league/kube-rs/README.md", "league/tare-controller/README.md")
CLAIMS = "results/claims.toml"
# Exit code of `cargo test` when a case failed, and also when it does not compile.
CASES_FAILED = 101
MARKS = "# Results\n\n<!-- loadgen index: begin -->\n<!-- loadgen index: end -->\n"


def fail(message, code=2):
    print(f"error: {message}", file=sys.stderr)
    sys.exit(code)


def said(*command):
    return subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True, text=True).stdout.strip()


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Step:
    """One folder, and what writes it."""

    def __init__(self, table):
        known = {"folder", "question", "bench", "then", "command", "parts", "minutes", "megabytes"}
        self.folder = table.get("folder", "")
        if unknown := sorted(set(table) - known):
            fail(f"step {self.folder!r}: unknown key {unknown[0]!r}; there are {', '.join(sorted(known))}")
        if not self.folder or not table.get("question"):
            fail(f"step {self.folder!r}: needs folder and question")
        if ("bench" in table) == ("command" in table):
            fail(f"step {self.folder!r}: needs either bench or command")
        if "parts" in table and "bench" in table:
            fail(f"step {self.folder!r}: parts go with a command")
        self.question = table["question"]
        self.bench = shlex.split(table["bench"]) if "bench" in table else None
        self.command = shlex.split(table.get("command", ""))
        # Arguments of the command, which is called once with each; --resume keeps those that are done.
        self.parts = table.get("parts", [])
        # What a bench leaves to another program: it runs when the bench is complete.
        self.then = shlex.split(table.get("then", ""))
        self.minutes, self.megabytes = table.get("minutes", 0), table.get("megabytes", 0)

    def arguments(self, plan, out, label, resume):
        """The bench as it is called."""
        path = os.path.join(out, self.folder)
        words = ["bench", *self.bench, *plan.always, "--host-label", label, "--out", path]
        return words + (["--resume"] if resume and os.path.exists(path) else [])

    def estimate(self, plan, out, label, resume):
        """Runs, seconds, bytes of results, bytes on disk while it runs, bytes of memory; or why it cannot be."""
        if self.bench is None:
            return {"runs_left": 1, "left_s": self.minutes * 60, "results_bytes": self.megabytes * 1_000_000,
                    "temporary_bytes": 0, "memory_bytes": 0}
        done = subprocess.run([plan.loadgen, *self.arguments(plan, out, label, resume), "--dry-run"], cwd=CHECKOUT,
                              capture_output=True, text=True)
        if done.returncode != 0:
            return done.stderr.strip().removeprefix("error: ")
        one = json.loads(done.stdout)
        # loadgen does not know limits that subjects have of their own.
        known_s = self.minutes * 60 * one["runs_left"] // max(1, one["runs"])
        return {**one, "left_s": max(one["left_s"], known_s)}


class Plan:
    def __init__(self, path, dry_run):
        try:
            with open(path, "rb") as file:
                table = tomllib.load(file)
        except (OSError, tomllib.TOMLDecodeError) as error:
            fail(f"{path}: {error}")
        self.path = path
        # To try the command: on a machine that works, from a checkout with changes.
        self.is_trial = table.get("trial", False)
        # Where nothing is measured, loadgen is as the tests build it, which is there in a minute.
        as_tested = self.is_trial or dry_run
        self.build, folder = (["test", "--workspace", "--no-run", "--test", "commands", "--test", "documents"], "debug") if as_tested \
            else (["build", "--release", "-p", "loadgen", "-p", "xtask"], "release")
        self.loadgen, self.xtask = (os.path.join(TARGET, folder, name) for name in ("loadgen", "xtask"))
        self.budget_hours, self.budget_megabytes = table.get("hours"), table.get("megabytes")
        self.always = shlex.split(table.get("always", ""))
        self.steps = [Step(step) for step in table.get("step", [])]
        folders = [step.folder for step in self.steps]
        if not folders or len(set(folders)) != len(folders):
            fail(f"{path}: needs steps, each with a folder of its own")


KEYS = ("runs_left", "left_s", "results_bytes", "temporary_bytes", "memory_bytes")
ROOM = ("temporary_bytes", "memory_bytes")


def duration(seconds):
    minutes = max(1, round(seconds / 60))
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"


def estimate(plan, steps, out, label, begun):
    """Prints the estimate; returns a line for each thing that this machine lacks. `begun` has the folders of this campaign."""
    print(f"{'folder':<24} {'runs':>5} {'time':>12} {'results, MB':>12} {'disk, MB':>9} {'memory, MB':>11}")
    total, lacks = dict.fromkeys(KEYS, 0), []
    for step in steps:
        one = step.estimate(plan, out, label, step.folder in begun)
        if isinstance(one, str):
            print(f"{step.folder:<24} {'-':>5}")
            lacks.append(f"step {step.folder}: {one}")
            continue
        print(f"{step.folder:<24} {one['runs_left']:>5} {duration(one['left_s']):>12} {one['results_bytes'] / 1e6:>12.1f} "
              f"{one['temporary_bytes'] / 1e6:>9.0f} {one['memory_bytes'] / 1e6:>11.0f}")
        for key in KEYS:
            # One step follows another: room is needed once.
            total[key] = max(total[key], one[key]) if key in ROOM else total[key] + one[key]
    print(f"{'all':<24} {total['runs_left']:>5} {duration(total['left_s']):>12} {total['results_bytes'] / 1e6:>12.1f} "
          f"{total['temporary_bytes'] / 1e6:>9.0f} {total['memory_bytes'] / 1e6:>11.0f}")
    if plan.budget_hours and total["left_s"] > plan.budget_hours * 3600:
        lacks.append(f"more than the {plan.budget_hours} h of the plan: cut a step")
    if plan.budget_megabytes and total["results_bytes"] > plan.budget_megabytes * 1e6:
        lacks.append(f"more than the {plan.budget_megabytes} MB of results of the plan: cut a step")
    temporary = os.environ.get("TMPDIR", "/tmp")
    free = shutil.disk_usage(temporary).free
    if total["temporary_bytes"] + total["results_bytes"] > free:
        lacks.append(f"{temporary} has {free / 1e6:.0f} MB free: set TMPDIR to a larger disk")
    with open("/proc/meminfo") as meminfo:
        available = next(int(line.split()[1]) * 1024 for line in meminfo if line.startswith("MemAvailable"))
    if total["memory_bytes"] > available:
        lacks.append(f"{available / 1e6:.0f} MB of memory are available: choose a larger machine")
    return lacks


def machine():
    with open("/proc/cpuinfo") as cpuinfo:
        model = next((line.split(":", 1)[1].strip() for line in cpuinfo if line.startswith("model name")), platform.machine())
    return {"cpu_model": model, "cores": os.cpu_count()}


def identity(plan, out):
    """What all steps of a campaign share."""
    inside = os.path.relpath(out, CHECKOUT)
    changed = said("git", "status", "--porcelain", "--", ".", f":!{inside}" if not inside.startswith("..") else ":!results")
    if changed and not plan.is_trial:
        fail(f"the checkout has changes ({changed.splitlines()[0].strip()}, …); commit them, so that the results name a commit")
    return {"commit": said("git", "rev-parse", "HEAD"), "plan": os.path.relpath(plan.path, CHECKOUT),
            "plan_sha256": sha256(plan.path), "architecture": platform.machine(), "cores": os.cpu_count()}


def interrupted(out):
    """The state of a campaign that can be resumed."""
    path = os.path.join(out, STATE)
    if not os.path.exists(path):
        fail(f"there is no {path} to go on with; leave out --resume")
    with open(path) as file:
        return json.load(file)


def builds_the_same(commit):
    """Whether the programs of the checkout are those of this commit, but for the commit that they name."""
    changed = subprocess.run(["git", "diff", "--name-only", commit, "HEAD"], cwd=CHECKOUT, capture_output=True, text=True)
    names = changed.stdout.splitlines()
    return changed.returncode == 0 and all(name.startswith(NOT_BUILT) and name != CLAIMS for name in names)


def begin(plan, out, same, resume):
    """The state of a new campaign, or with --resume of the one that was interrupted."""
    path = os.path.join(out, STATE)
    if not resume:
        if os.path.exists(path):
            fail(f"{path} exists; go on with --resume, or choose another folder with --out")
        return {**same, "loadgen_sha256": sha256(plan.loadgen), "steps": {}}
    state = interrupted(out)
    for key, value in same.items():
        if key == "commit" and builds_the_same(state[key]):
            continue
        if state[key] != value:
            fail(f"{path} is of another {key}: {state[key]} there, {value} here")
    return state


def write(path, text):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path + ".partial", "w") as file:
        file.write(text)
    os.replace(path + ".partial", path)


def read(path):
    with open(path) as file:
        return file.read()


def files(folder):
    """The files in a folder and below, sorted, relative to it."""
    return sorted(os.path.relpath(os.path.join(parent, name), folder) for parent, _, names in os.walk(folder) for name in names)


def is_done(entry):
    return entry.get("exit_code") == 0 or entry.get("accepted", False)


def not_done(steps, entries):
    """The steps that are neither complete nor accepted."""
    return [step for step in steps if not is_done(entries.get(step.folder, {}))]


def accept(plan, out, steps, state, label):
    """Marks steps that ended with failed runs or cases as done. The folder of a command is sealed as it is."""
    for step in steps:
        folder, entry = os.path.join(out, step.folder), state["steps"].get(step.folder, {})
        if step.then:
            fail(f"--accept {step.folder}: {shlex.join(step.then)} has not completed it; --resume takes it again")
        if step.bench is None:
            if entry.get("exit_code") != CASES_FAILED or not has_cases(folder):
                fail(f"--accept {step.folder}: not a command of this campaign of which a case failed")
            if left := [part for part in step.parts if part not in entry["parts"]][1:]:
                fail(f"--accept {step.folder}: {', '.join(left)} did not run, because a part before failed")
            seal(folder, step, state, label)
        elif entry.get("exit_code") != 1:
            fail(f"--accept {step.folder}: not a bench of this campaign that ended with failed runs")
        checked = subprocess.run([plan.loadgen, "verify", folder], cwd=CHECKOUT)
        if checked.returncode != 0:
            fail(f"--accept {step.folder}: it does not verify; --resume takes it again", 1)
        entry["accepted"] = True


def has_cases(folder):
    """Whether the folder has a record of a test's case. A command that does not compile leaves none."""
    return any("case" in json.loads(read(path)) for path in glob.glob(os.path.join(folder, "*", "*.json")))


def note_question(out, step):
    path = os.path.join(out, QUESTIONS)
    head, lines = "# Which question each folder answers, for the index in README.md (`cargo xtask index`).\n", {}
    if os.path.exists(path):
        with open(path, "rb") as file:
            lines = tomllib.load(file)
    lines[step.folder] = step.question
    text = "".join(f"{json.dumps(key)} = {json.dumps(lines[key], ensure_ascii=False)}\n" for key in sorted(lines))
    write(path, head + text)


def until_idle():
    """Waits until the load average has forgotten what ran before."""
    deadline = time.monotonic() + IDLE_WITHIN_S
    while (load := os.getloadavg()[0]) > IDLE_LOAD:
        if time.monotonic() > deadline:
            fail(f"something else is at work: the load is {load:.1f}; end it, then go on with --resume", 1)
        time.sleep(10)


def take(step, plan, out, label, resume, done, keep):
    """Runs one step but for the parts that are done, and calls `keep` after each; its exit code."""
    if step.bench is not None:
        if not plan.is_trial:
            until_idle()
        command = [plan.loadgen, *step.arguments(plan, out, label, resume)]
    else:
        command = step.command
    for part in step.parts or [None]:
        if part in done:
            continue
        began = {"machine": machine(), "began_at": now()}
        if code := call(step, [*command, part] if part else command, out):
            return code
        if part:
            done[part] = {**began, "ended_at": now()}
            keep()
    return call(step, step.then, out) if step.then else 0


def call(step, command, out):
    """Runs one command to its end; its exit code."""
    print(f"\n== {step.folder}: {shlex.join(command)}", flush=True)
    environment = dict(os.environ, CAMPAIGN_FOLDER=os.path.join(out, step.folder))
    process = subprocess.Popen(command, cwd=CHECKOUT, env=environment)
    signal.signal(signal.SIGTERM, lambda *_: process.send_signal(signal.SIGINT))
    return until_ended(process)


def until_ended(process):
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            # The terminal has interrupted the step, too; it keeps what it has measured and ends.
            continue


def seal(folder, step, state, label):
    """Says in the folder of a command what made it, and hashes all that is there."""
    entry = state["steps"][step.folder]
    origin = {"command": shlex.join(step.command), "commit": state["commit"], "date": entry["ended_at"], "host_label": label,
              "machine": entry["machine"]}
    write(os.path.join(folder, ORIGIN), json.dumps(origin, indent=2) + "\n")
    lines = [f"{sha256(os.path.join(folder, name))}  {name}\n" for name in files(folder) if name != SUMS]
    write(os.path.join(folder, SUMS), "".join(lines))


def leave_out_logs(folder):
    """Removes the servers' logs of runs that went well, and those of builds and of conformance that passed: no figure is made of them,
    and the results have to stay small enough to clone. The operators' own logs stay, and so do all of failed and invalid runs. The hashes
    of all other files stay as `loadgen bench` wrote them."""
    def names(where, went_well):
        paths = glob.glob(os.path.join(folder, where, "*.json"))
        loaded = [(os.path.basename(path).removesuffix(".json"), json.loads(read(path))) for path in paths]
        return [name for name, entry in loaded if not went_well(entry)]
    kept = names("runs", lambda run: not run["failure"] and not run["invalid_because"])
    kept += [f"{name}-conformance" for name in names("conformance", lambda case: case["result"] == "passed")]
    kept = tuple(f"logs/{name}{end}" for name in kept for end in "./-")

    def is_operators(log):
        return os.path.dirname(log) == "logs" and log.endswith(".log.gz")
    logs = [name for name in files(folder) if name.startswith("logs/")]
    gone = {log for log in logs if not is_operators(log) and not log.startswith(kept)}
    sums = os.path.join(folder, SUMS)
    lines = [line for line in read(sums).splitlines(keepends=True) if line.rstrip("\n").split("  ", 1)[1] not in gone]
    # The hashes first: a file without one is allowed, a hash without its file is not.
    write(sums, "".join(lines))
    for log in gone:
        os.remove(os.path.join(folder, log))
    for parent, _, _ in os.walk(os.path.join(folder, "logs"), topdown=False):
        if not os.listdir(parent):
            os.rmdir(parent)
    return len(gone)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1], formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run", action="store_true", help="print runs, time and room, and measure nothing")
    parser.add_argument("--resume", action="store_true", help="go on with an interrupted campaign")
    parser.add_argument("--plan", default=os.path.join(CHECKOUT, "scripts/campaign/full.toml"), metavar="FILE")
    parser.add_argument("--out", default="results", metavar="DIR")
    parser.add_argument("--host-label", default="local", metavar="LABEL", help="name of this machine in the reports")
    parser.add_argument("--only", nargs="+", default=[], metavar="FOLDER", help="these steps only")
    parser.add_argument("--accept", nargs="+", default=[], metavar="FOLDER",
                        help="with --resume: these steps are done, although runs or cases in them failed")
    args = parser.parse_args()
    if args.accept and (args.dry_run or not args.resume):
        fail("--accept goes with --resume, and not with --dry-run")
    out = os.path.abspath(args.out)
    shown = os.path.relpath(out, CHECKOUT) if out.startswith(CHECKOUT + os.sep) else out
    plan = Plan(os.path.abspath(args.plan), args.dry_run)
    unknown = [folder for folder in args.only + args.accept if folder not in [step.folder for step in plan.steps]]
    if unknown:
        fail(f"no step {unknown[0]!r}; there are {', '.join(step.folder for step in plan.steps)}")
    steps = [step for step in plan.steps if not args.only or step.folder in args.only]
    head = said("git", "rev-parse", "HEAD")
    commit = interrupted(out)["commit"] if args.resume else head
    # All images and programs name the commit that the campaign began with. Those of a trial may be of changed sources.
    if not plan.is_trial:
        os.environ["REVISION"] = commit
    if commit != head:
        os.environ["TARE_COMMIT"] = commit[:12]
    built = subprocess.run(["cargo", *plan.build, "--quiet"], cwd=CHECKOUT)
    if built.returncode != 0:
        fail("loadgen cannot be built", 1)
    if args.dry_run:
        begun = interrupted(out)["steps"] if args.resume else {}
        lacks = estimate(plan, not_done(steps, begun), shown, args.host_label, begun)
        for line in lacks:
            print(f"does not fit: {line}")
        return 1 if lacks else 0

    state = begin(plan, out, identity(plan, out), args.resume)

    def keep():
        write(os.path.join(out, STATE), json.dumps(state, indent=1) + "\n")

    if args.accept:
        accept(plan, out, [step for step in plan.steps if step.folder in args.accept], state, args.host_label)
        keep()
    left = not_done(steps, state["steps"])
    for step in left:
        if step.bench is not None and step.folder not in state["steps"] and os.path.exists(os.path.join(out, step.folder)):
            fail(f"{os.path.join(shown, step.folder)} is not of this campaign; move it away and repeat the command")
    for line in estimate(plan, left, shown, args.host_label, state["steps"]) if left else []:
        print(f"does not fit: {line}")
    if left and subprocess.run([plan.loadgen, "control-plane", "build"], cwd=CHECKOUT).returncode != 0:
        fail("the control plane cannot be built", 1)
    failed = []
    for step in left:
        done = state["steps"].get(step.folder, {}).get("parts", {})
        entry = {"machine": machine(), "began_at": now(), **({"parts": done} if step.parts else {})}
        is_begun = step.folder in state["steps"]
        state["steps"][step.folder] = entry
        keep()
        code = take(step, plan, shown, args.host_label, is_begun, done, keep)
        if code in (130, -signal.SIGINT, -signal.SIGTERM):
            print(f"stopped in {step.folder}: go on with the same command and --resume")
            return 130
        entry.update(ended_at=now(), exit_code=code)
        if code == 0 and step.command and os.path.isdir(os.path.join(out, step.folder)):
            seal(os.path.join(out, step.folder), step, state, args.host_label)
        keep()
        if os.path.isdir(os.path.join(out, step.folder)):
            note_question(out, step)
        if code != 0:
            failed.append(step.folder)
            print(f"step {step.folder} ended with exit code {code}; --resume takes it again")
    for folder, entry in state["steps"].items():
        if is_done(entry) and os.path.isdir(os.path.join(out, folder, "runs")) and (count := leave_out_logs(os.path.join(out, folder))):
            print(f"{os.path.join(shown, folder)}: servers' logs of what went well left out: {count}")
    readme = os.path.join(out, README)
    if not os.path.exists(readme):
        write(readme, MARKS)
    subprocess.run([plan.xtask, "index", shown], cwd=CHECKOUT, check=True)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
