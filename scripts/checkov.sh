#!/usr/bin/env bash
# What checkov finds in deploy/: scripts/checkov.sh
#
# Guarantees: a finding that is not explained on its object (annotations `checkov.io/skipN`) fails, and
# so does an explanation of nothing; no policy is downloaded and nothing is sent anywhere. Templates of
# deploy/helm are left out: rendered, they are what is looked at in deploy/base (tests/release/chart.rs).
# Needs python3 with venv. checkov goes into the user's cache folder, where the next run finds it.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
# shellcheck source=scripts/shipped.sh
source scripts/shipped.sh
need python3

requirements=scripts/requirements/checkov.txt
tools="${XDG_CACHE_HOME:-$HOME/.cache}/tare/tools/checkov-$(cksum <"$requirements" | cut -d ' ' -f 1)"
checkov="$tools/bin/checkov"
if ! "$checkov" --version >/dev/null 2>&1; then
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$requirements" \
        || fail "pip cannot install checkov; is PyPI reachable?"
fi

report="$(mktemp)"
trap 'rm -f "$report"' EXIT
if ! "$checkov" --framework kubernetes --skip-download --compact --quiet -o json --skip-path deploy/helm -d deploy >"$report"; then
    "$checkov" --framework kubernetes --skip-download --compact --quiet --skip-path deploy/helm -d deploy || true
    fail "explain each of them on its object (annotation checkov.io/skipN: ID=WHY), or mend it"
fi
python3 - "$report" <<'END'
import glob, json, sys

summary = json.load(open(sys.argv[1]))["summary"]
files = [file for file in glob.glob("deploy/**/*.yaml", recursive=True) if not file.startswith("deploy/helm/")]
explained = sum(open(file).read().count("checkov.io/skip") for file in files)
if summary["skipped"] != explained:
    sys.exit(f"error: {explained} explanations in deploy/, but only {summary['skipped']} findings that they explain")
print(f"deploy/: {summary['passed']} checks passed, {summary['skipped']} findings explained on their objects")
END
