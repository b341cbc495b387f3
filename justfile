# Daily work on Tare. `just` lists the recipes; .ci/run runs the same ones.

# What is there.
default:
    @just --list --unsorted

# Format and lints; warnings are errors.
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

# What a small change can break: format, unit tests, simulated scenarios; `just fast main` of all since then.
fast *REVISION:
    scripts/fast.sh {{REVISION}}

# Licences, sources and banned crates of the dependencies.
deny:
    cargo deny check bans licenses sources

# Known vulnerabilities of the dependencies; says what is skipped because a database cannot be reached.
advisories:
    scripts/advisories.sh

# The digest of the image that Dockerfile.scratch compiles in: show, check or pin.
base-image WHAT="show":
    scripts/base-image.sh {{WHAT}}

# What pip installs, with the hash of every file.
requirements *NAMES:
    scripts/requirements.sh {{NAMES}}

# All tests: no cluster needed.
test:
    cargo test --workspace

# Contract suite and scenarios on another Kubernetes: `just kubernetes 1.35`. Builds it first, which takes some ten minutes.
kubernetes VERSION *ARGS:
    KUBEBUILDER_ASSETS="$(cargo run --quiet -p loadgen -- control-plane build --kubernetes {{VERSION}})" && export KUBEBUILDER_ASSETS && \
        cargo test -p controlplane --test contract -- {{ARGS}} && \
        cargo build -p tare --examples && \
        cargo test -p tare --test scenarios -- --skip simulated:: --skip overload:: {{ARGS}}

# Objects and edits generated from schemas, 20,000 operations; OBJECTS_SEED=N chooses others. A tenth also on a real control plane.
objects:
    OBJECTS_OPERATIONS=20000 cargo test -p tare --test scenarios -- objects::

# The same, and writes results/reliability/objects.md: needs `loadgen control-plane build`.
objects-report:
    CAMPAIGN_FOLDER=results/reliability scripts/reliability.sh objects

# 100,000 schedules of faults and sequences of the queue's model, every pair of crashes, and every known bug: minutes, which it prints.
simulate SEEDS="100000" RECORDS="target/simulation":
    QUEUE_SEQUENCES={{SEEDS}} cargo test --release -p tare-runtime --lib -- newest
    cargo test --release -p tare-runtime --lib --features mutants -- newest::known_bugs
    SIMULATION_RECORDS={{RECORDS}} SEEDS={{SEEDS}} cargo test --release -p tare --test simulation -- --include-ignored --nocapture
    SIMULATION_RECORDS={{RECORDS}} cargo test --release -p tare --features mutants --test simulation -- mutants:: --include-ignored --nocapture

# Writes results/reliability/simulation.md from the records beside it.
simulation-report RECORDS="results/reliability/simulation":
    SIMULATION_RECORDS={{RECORDS}} SIMULATION_REPORT=results/reliability/simulation.md cargo test --release -p tare --test simulation -- report

# Overload and hostile networks on a real control plane, one case after the other, also those of minutes: about four hours. `just overload killed` runs the cases whose name begins so; `STORM_SEEDS=7 STORM_MODE=none just overload storm` one storm. Writes results/reliability/overload.md from the record of each case beside it.
overload CASE="":
    cargo run --quiet -p loadgen -- control-plane build
    scripts/dist.sh {{ arch() }}-unknown-linux-musl
    TARE_PROGRAM={{ justfile_directory() }}/target/static/{{ arch() }}-unknown-linux-musl/dist/tare \
        OVERLOAD_RECORDS={{ justfile_directory() }}/results/reliability/overload OVERLOAD_IDLE_S=600 \
        cargo test -p tare --test scenarios -- --include-ignored --test-threads 1 overload::{{CASE}}

# This repository itself: circles between rooms, words, links, commands in documents.
house:
    cargo build -p loadgen
    cargo test -p tare --test repository

# Documentation of the crates; warnings are errors.
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# The rivals in Go: format, vet, tests. No cluster needed.
test-go:
    test -z "$(gofmt -l league/controller-runtime)"
    cd league/controller-runtime && go vet ./... && go test ./... && GOEXPERIMENT=jsonv2 go test ./internal/storeless

# Measures tare/none and kube-rs/stock on the simulated API server; `just bench --help` for more.
bench *ARGS:
    cargo run --release -p loadgen -- bench {{ARGS}}

# Measures the four operators of examples/ with 5,000 objects each, on the simulated API server.
bench-examples *ARGS:
    cargo run --release -p loadgen -- bench --bursts-only --objects 0,5000 \
        --subject examples/webapp/subject.toml --subject examples/myservice/subject.toml \
        --subject examples/inference_service/subject.toml --subject examples/echo/subject.toml \
        --subjects webapp/example,myservice/example,inference-service/example,echo/example {{ARGS}}

# The league of operator frameworks (docs/league.md) on a real kube-apiserver, with 0 and 500 objects, ready after two seconds: `just league --out DIR`.
league *ARGS:
    cargo run --release -p loadgen -- control-plane build
    cargo run --release -p loadgen -- bench --control-plane kube --bursts-only --ready-delay-ms 2000 --target x86_64-unknown-linux-musl \
        --subject league/kopf/documented.toml --subject league/kopf/tuned.toml \
        --subject league/java-operator-sdk/documented.toml --subject league/java-operator-sdk/tuned.toml \
        --subject league/client-node/documented.toml --subject league/client-node/tuned.toml \
        --subjects tare/none,tare/controller,kube-rs/stock,kube-rs/tuned,controller-runtime/vanilla,controller-runtime/tuned,kopf/documented,kopf/tuned,java-operator-sdk/documented,java-operator-sdk/tuned,client-node/documented,client-node/tuned \
        {{ARGS}}

# The operators of league/ do their work: the conformance scenario on a simulated server.
league-conform *ARGS:
    cargo run --release -p loadgen -- conform \
        --subject league/kopf/documented.toml --subject league/kopf/tuned.toml \
        --subject league/java-operator-sdk/documented.toml --subject league/java-operator-sdk/tuned.toml \
        --subject league/client-node/documented.toml --subject league/client-node/tuned.toml \
        --subjects kopf/documented,kopf/tuned,java-operator-sdk/documented,java-operator-sdk/tuned,client-node/documented,client-node/tuned {{ARGS}}

# All criterion benches, about ten minutes; their figures and plots go to results/criterion.
bench-all:
    TARE_CRITERION_RESULTS=results/criterion cargo bench
    TARE_CRITERION_RESULTS=results/criterion cargo bench --bench rss --features alloc-statistics

# Everything that is published, from one commit: `just campaign --dry-run` prints runs, hours and room; --resume goes on.
campaign *ARGS:
    scripts/campaign.py {{ARGS}}

# Writes every crd.yaml from the Rust types.
manifests:
    TARE_WRITE_MANIFESTS=1 cargo test -q -p tare --test repository crd::

# Static musl binaries in target/static: `just dist`, `just dist aarch64-unknown-linux-musl`, `just dist all baseline-kube-rs`.
dist TARGET="x86_64-unknown-linux-musl" PACKAGE="tare" *ARGS:
    scripts/dist.sh {{TARGET}} {{PACKAGE}} {{ARGS}}

# The bytes of the static binary by section, crate and function.
bloat TARGET="x86_64-unknown-linux-musl" PACKAGE="tare":
    scripts/bloat.sh {{TARGET}} {{PACKAGE}}

# Which functions of tare run, for the linker (scripts/order/tare.txt): when its code has changed much.
order OBJECTS="1000":
    scripts/order.sh {{OBJECTS}}

# The operator's image as an OCI layout in target/image, with its sizes: `just image`, `just image amd64`.
image *ARGS:
    scripts/image.sh {{ARGS}}

# Two builds of the image on two paths have one digest, and it is small enough: minutes.
image-check:
    scripts/image-check.sh

# The shipped image on a real node (kubelet, containerd, runc), as root on Linux; builds what it needs first.
node-test *ARGS:
    cargo run --quiet -p loadgen -- control-plane build --node
    scripts/image.sh {{ if arch() == "aarch64" { "arm64" } else { "amd64" } }}
    scripts/helm.sh version --short
    cargo test -p tare --test release -- node:: {{ARGS}}
    cargo test -p loadgen --test commands -- a_node
    cargo test -p loadgen --test commands -- operator_pod

# What takes minutes, before a release: the node; 5,000 EdgeApps within 16 MiB in runc; other processors under qemu-user.
release-check: node-test
    cargo run --quiet -p loadgen -- control-plane build
    scripts/dist.sh all
    cargo test -p tare --test release -- minutes:: --ignored --nocapture

# Writes deploy/install.yaml from deploy/base.
install-yaml:
    scripts/install-yaml.sh

# Lints the Helm chart and compares what it renders with install.yaml and the overlays.
chart:
    scripts/helm.sh lint --strict deploy/helm
    cargo test -p tare --test release -- chart::

# Findings of checkov in deploy/ that nobody has explained.
checkov:
    scripts/checkov.sh

# Fills dist/ with everything that is shipped, for the named platforms or all three.
release *PLATFORMS:
    scripts/release.sh {{PLATFORMS}}

# Publishes the images of dist/ and writes dist/install-registry.yaml with their names there.
push REGISTRY:
    scripts/push.sh {{REGISTRY}}

# What continuous integration runs.
ci:
    bash .ci/run
