"""Makes the virtual environment of one class of the operator from its lock file: `python3 build.py documented`.

Needs nothing but the standard library. Guarantees: a second call does nothing while the lock file and the interpreter
are the same; an environment that is not complete is made anew.
"""

import argparse
import hashlib
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("classes", nargs="+", choices=["documented", "tuned"])
    for name in arguments.parse_args().classes:
        make(HERE / "venv" / name, HERE / "requirements" / f"{name}.txt")


def make(environment: Path, lock: Path) -> None:
    made_from = environment / "made-from"
    wanted = f"{sys.version}\n{environment}\n{hashlib.sha256(lock.read_bytes()).hexdigest()}\n"
    if made_from.exists() and made_from.read_text() == wanted:
        return
    shutil.rmtree(environment, ignore_errors=True)
    venv.create(environment, with_pip=True)
    python = str(environment / "bin" / "python")
    # Wheels alone: nothing of a package runs before its hash is known, and no compiler is needed.
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    subprocess.run([*pip, "--require-hashes", "--only-binary", ":all:", "--requirement", str(lock)], check=True)
    # Also what PYTHONOPTIMIZE=2 loads: else the first start compiles it, which takes time and memory.
    subprocess.run([python, "-m", "compileall", "-q", "-o", "2", str(environment / "lib")], check=False)
    made_from.write_text(wanted)


if __name__ == "__main__":
    main()
