#!/usr/bin/env bash
# Bridge BoxWorld at the paper's setting on one GPU: speed first, then training for as long as is given.
#
#   benchmarks/gpu.sh                             speed, then both agents, an hour each
#   HOURS=0 benchmarks/gpu.sh                     speed alone
#   SPEED=0 AGENTS=simplicial HOURS=8 SEEDS="0 1 2 3" benchmarks/gpu.sh
#   benchmarks/gpu.sh                             again: goes on where the last call stopped
#
# Training runs in slices of SLICE minutes; each ends with a checkpoint, from which the next goes on, so that a
# machine that is taken away costs one CHECKPOINT interval. ENVS environments act at once and every gradient step
# is on 32 of them, as in the paper's Table 1; between acting and learning lie at most ENVS / 32 steps.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python}
export KERAS_BACKEND=${KERAS_BACKEND:-jax}
# The same numbers for the same seed, also where sums could be done in any order.
export XLA_FLAGS="${XLA_FLAGS:-} --xla_gpu_deterministic_ops=true"
OUT=${OUT:-runs/gpu}
AGENTS=${AGENTS:-simplicial relational}
SEEDS=${SEEDS:-0 1 2 3}
ENVS=${ENVS:-1024}
HOURS=${HOURS:-1}
SLICE=${SLICE:-30}
FRAMES=${FRAMES:-5500000000}
mkdir -p "$OUT"

if [ "${SPEED:-1}" = 1 ]; then
  "$PYTHON" -m benchmarks.compiled --envs 256 1024 4096 16384 --group "${GROUP:-256}" \
    --policy float32 mixed_bfloat16 | tee "$OUT/speed_$KERAS_BACKEND.jsonl"
fi

unroll=40
batch=$((ENVS * unroll))
for agent in $AGENTS; do
  end=$(($(date +%s) + $(awk "BEGIN { print int($HOURS * 3600) }")))
  while now=$(date +%s); [ "$now" -lt "$end" ]; do
    run=$(ls -d "$OUT/$agent"/bridge_boxworld/*/ 2>/dev/null | head -n 1 || true)
    if [ -z "$run" ]; then
      # shellcheck disable=SC2086
      set -- --preset paper --engine compiled --agent "$agent" --seeds $SEEDS --out "$OUT/$agent" \
        --num-env-runners 0 --batch-size "$batch" --num-minibatches $((ENVS / 32)) \
        --total-frames "$FRAMES" --report-interval 30 --checkpoint-interval "${CHECKPOINT:-300}"
    else
      set -- --resume "$run"
    fi
    left=$((end - now)) slice=$((SLICE * 60))
    code=0
    timeout --signal=TERM $((left < slice ? left : slice)) \
      "$PYTHON" run.py --exp bridge_boxworld "$@" || code=$?
    case $code in
      0) break ;;                      # Trained to the end.
      124 | 143) ;;                    # The slice is over; a checkpoint is written.
      *) exit "$code" ;;
    esac
  done
done
