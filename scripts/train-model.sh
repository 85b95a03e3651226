#!/bin/sh
# Trains the built-in model of the sampler, in pieces that can be stopped and continued.
#
#     scripts/train-model.sh                   one piece of up to MINUTES (default 8.5); repeat until STEPS
#     scripts/train-model.sh finish            the weights alone, into models/gflownet.safetensors
#
# SKED: the command (build/cuda/sked of `make cuda`). BACKEND: cuda or cpu. WORK: folder of the model in training
# (build/training). The result depends on STEPS, RATE, BLEND, the seed and the device, not on threads or on where the
# pieces end.
set -eu
cd "$(dirname "$0")/.."
SKED=${SKED:-build/cuda/sked}
BACKEND=${BACKEND:-cuda}
WORK=${WORK:-build/training}
THREADS=${THREADS:-15}
MINUTES=${MINUTES:-8.5}
STEPS=${STEPS:-11676}
RATE=${RATE:-0.001}
BLEND=${BLEND:-0.8}
MODEL=$WORK/model.safetensors

sizes=20-250
graphs=
for family in erdos-renyi layered stochastic-block watts-strogatz barabasi-albert; do
    graphs=$graphs$family:$sizes,$family:$sizes:lognormal:0/1,$family:$sizes:lognormal:0/2,
done
for family in fork-join chain tree cholesky lu fft; do
    graphs=$graphs$family:$sizes:lognormal:0/1,$family:$sizes:lognormal:0/2,
done
graphs=${graphs}fork-join:$sizes,tree:$sizes

mkdir -p "$WORK"
set -- "${1:-train}" --graphs "$graphs" --devices 8 --seed 0 --threads "$THREADS" --backend "$BACKEND" --steps "$STEPS" \
    --set least-devices=2 --set graphs=32 --set batch=48 --set rate="$RATE" --set anneal="$STEPS" --set gentlest=20 \
    --set sharpest=1000 --set validate=0
if [ "$1" = finish ]; then
    shift
    exec "$SKED" train "$@" --minutes 0 --resume "$MODEL" --weights-only --set blend="$BLEND" \
        -o models/gflownet.safetensors
fi
shift
if [ -f "$MODEL" ]; then
    set -- "$@" --resume "$MODEL"
fi
exec "$SKED" train "$@" --minutes "$MINUTES" -o "$MODEL" -o "$WORK/log.jsonl"
