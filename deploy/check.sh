#!/bin/sh
# Whether Tare works on this cluster: deploy/check.sh [--image IMAGE] [--port]
#   --image IMAGE   the EdgeApp of the check starts one pod with it, which must not end by itself;
#                   without it replicas are 0: everything is made but no pod is started
#   --port          the EdgeApp of the check has a Service, too
#
# Looks at the namespace, the CRD, the Deployment, its pod and its /readyz; then makes one EdgeApp in a
# namespace of its own, waits until it is Ready, and removes both. Takes a minute at most.
# Exit code: 0 it works; 1 something does not, and the line says what; 2 no verdict (a wrong option, no
# cluster, interrupted).
# Guarantees: nothing of it is left, also after Ctrl-C; nothing else is changed. POSIX sh and kubectl
# (KUBECTL="k3s kubectl" is found by itself). Needs a cluster administrator's kubeconfig.
set -u

namespace=tare-system
pods=app.kubernetes.io/name=tare,app.kubernetes.io/component=operator
own="tare-check-$$"
made=no failed=0 warned=0
image='' replicas=0 port=''

# A trap finds the redirections of the command that was interrupted.
exec 3>&1 4>&2
undecided() { echo "error: $1" >&2; exit 2; }
say() { printf '%-6s %-11s %s\n' "$1" "$2" "$3" >&3; }
ok() { say ok "$1" "$2"; }
warn() { say warn "$1" "$2"; warned=$((warned + 1)); }
bad() { say FAIL "$1" "$2"; failed=$((failed + 1)); }
# An answer of the server in one line of bearable length.
line() { tr '\n' ' ' | sed 's/ *$//' | cut -c 1-300; }

while [ $# -gt 0 ]; do
    case "$1" in
        --image)
            [ -n "${2:-}" ] || undecided "--image needs the name of an image"
            image="$2" replicas=1
            shift 2
            ;;
        --port) port='port: 80' && shift ;;
        *) undecided "unknown option $1; there are --image IMAGE and --port" ;;
    esac
done

if [ -z "${KUBECTL:-}" ]; then
    if command -v kubectl >/dev/null; then
        KUBECTL=kubectl
    elif command -v k3s >/dev/null; then
        KUBECTL='k3s kubectl'
    else
        undecided "neither kubectl nor k3s is in PATH; set KUBECTL"
    fi
fi
# KUBECTL may be two words.
# shellcheck disable=SC2086
ask() { $KUBECTL --request-timeout=10s "$@"; }
# As long as the command says, which is longer than one request.
# shellcheck disable=SC2086
wait_for() { $KUBECTL wait "$@"; }
field() { ask -n "$namespace" get "$1" "$2" -o "jsonpath=$3" 2>&1; }

# Removes what the check has made; the EdgeApp is gone when its children are.
clean() {
    [ "$made" = yes ] || return 0
    made=no
    # A second Ctrl-C does not stop it.
    trap '' INT TERM HUP
    ask -n "$own" delete edgeapp check --cascade=foreground --ignore-not-found --wait=false >/dev/null 2>&1
    # The garbage collector learns of a new kind within 30 s, and this may be run as soon as the CRD is there.
    wait_for -n "$own" --for=delete edgeapp/check --timeout=40s >/dev/null 2>&1
    ask delete namespace "$own" --ignore-not-found --wait=false >/dev/null 2>&1
}
trap 'clean' EXIT
trap 'echo "interrupted: removing namespace $own" >&4; exit 2' INT TERM HUP

# shellcheck disable=SC2086
server="$(ask get --raw /version 2>&1 | sed -n 's/.*"gitVersion": *"\([^"]*\)".*/\1/p')"
[ -n "$server" ] || undecided "the cluster does not answer: $(ask get --raw /version 2>&1 | line) (on k3s: export KUBECONFIG=/etc/rancher/k3s/k3s.yaml)"
ok cluster "$server"

phase="$(ask get namespace "$namespace" -o 'jsonpath={.status.phase}' 2>&1)"
case "$phase" in
    Active) ok namespace "$namespace" ;;
    Terminating) bad namespace "$namespace is being deleted" ;;
    *) bad namespace "$(echo "$phase" | line): apply install.yaml" ;;
esac

established="$(ask get crd edgeapps.tare.dev -o 'jsonpath={.status.conditions[?(@.type=="Established")].status}{.metadata.deletionTimestamp}' 2>&1)"
case "$established" in
    True) ok crd "edgeapps.tare.dev is Established" ;;
    True*) bad crd "edgeapps.tare.dev is being deleted: see \"The CRD was deleted\" in README.md" ;;
    *) bad crd "edgeapps.tare.dev: $(echo "${established:-not Established}" | line)" ;;
esac

if said="$(wait_for -n "$namespace" --for=condition=Available deployment/tare --timeout=10s 2>&1)"; then
    ok deployment "tare is Available, $(field deployment tare '{.spec.template.spec.containers[0].image}')"
else
    bad deployment "tare: $(echo "$said" | line)"
fi

pod=''
# Restarts, and how the last one ended. The separator is not whitespace, so that empty fields stay.
if ! found="$(ask -n "$namespace" get pods -l "$pods" -o 'jsonpath={range .items[*]}{.metadata.name}|{.status.containerStatuses[0].restartCount}|{.status.containerStatuses[0].lastState.terminated.reason}|{.status.containerStatuses[0].lastState.terminated.finishedAt}|{.status.containerStatuses[0].state.waiting.reason}|{.spec.containers[0].resources.limits.memory}{"\n"}{end}' 2>&1)"; then
    bad pod "$(echo "$found" | line)"
elif [ -z "$found" ]; then
    bad pod "there is none: kubectl -n $namespace describe replicaset"
else
    while IFS='|' read -r name restarts reason at waiting limit; do
        pod="$name"
        case "$reason/$waiting" in
            OOMKilled/*) bad pod "$name was killed for memory at $at (limit ${limit:-none}, $restarts restarts): raise the limit" ;;
            */?*) bad pod "$name waits: $waiting ($restarts restarts)" ;;
            *)
                if [ "${restarts:-0}" = 0 ]; then
                    ok pod "$name, no restarts, limit ${limit:-none}"
                else
                    warn pod "$name: $restarts restarts, the last one ${reason:-unknown} at $at"
                fi
                ;;
        esac
    done <<END
$found
END
fi

if [ -n "$pod" ]; then
    proxy="/api/v1/namespaces/$namespace/pods/$pod:8080/proxy"
    if said="$(ask get --raw "$proxy/readyz" 2>&1)"; then
        ok readyz "$(echo "$said" | line)"
    else
        bad readyz "$(echo "$said" | line)"
    fi
    bytes="$(ask get --raw "$proxy/metrics" 2>/dev/null | sed -n 's/^process_resident_memory_bytes \([0-9]*\)$/\1/p')"
    [ -z "$bytes" ] || ok memory "$((bytes / 1000)) KB resident"
fi

# One EdgeApp. Its namespace is new, so that nothing can be in the way.
made=yes
if ! said="$(ask create namespace "$own" 2>&1)"; then
    made=no
    bad edgeapp "no namespace for it: $(echo "$said" | line)"
elif ! said="$(ask apply -f - 2>&1 <<END
apiVersion: tare.dev/v1alpha1
kind: EdgeApp
metadata: {name: check, namespace: $own}
spec:
  image: "${image:-localhost/none:1}"
  replicas: $replicas
  $port
END
)"; then
    bad edgeapp "refused: $(echo "$said" | line)"
elif wait_for -n "$own" --for=condition=Ready edgeapp/check --timeout=20s >/dev/null 2>&1; then
    ok edgeapp "created and Ready, $replicas replicas"
else
    said="$(ask -n "$own" get edgeapp check -o 'jsonpath={.status.phase}: {.status.conditions[?(@.type=="Ready")].message}' 2>&1 | line)"
    [ "$said" != ':' ] || said='no status: the operator has not seen it'
    bad edgeapp "not Ready after 20 s: $said"
fi

if [ "$made" = yes ]; then
    before=$failed
    clean
    left="$(ask -n "$own" get edgeapps,deployments,services -o name 2>/dev/null | line)"
    if [ -n "$left" ]; then
        # The garbage collector may be a moment behind.
        sleep 3
        left="$(ask -n "$own" get edgeapps,deployments,services -o name 2>/dev/null | line)"
    fi
    wait_for --for=delete "namespace/$own" --timeout=15s >/dev/null 2>&1
    if [ -n "$left" ]; then
        bad removal "left in namespace $own: $left"
    elif ask get namespace "$own" >/dev/null 2>&1; then
        warn removal "namespace $own is empty but still Terminating"
    elif [ "$failed" = "$before" ]; then
        ok removal "nothing is left"
    fi
fi

if [ "$failed" -gt 0 ]; then
    echo "verdict: $failed checks failed, $warned warnings"
    exit 1
fi
echo "verdict: it works, $warned warnings"
