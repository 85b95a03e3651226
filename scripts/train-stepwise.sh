#!/bin/sh
# Trains the stepwise model of models/, in pieces that can be stopped and continued.
#
#     scripts/train-stepwise.sh                one piece of up to MINUTES (default 8.5); repeat until STEPS
#     scripts/train-stepwise.sh finish         the weights alone, into models/stepwise.safetensors
#
# SKED, BACKEND, WORK, THREADS as in train-model.sh. The result depends on STEPS, RATE, the seed and the device, not on
# threads or on where the pieces end.
set -eu
cd "$(dirname "$0")/.."
SKED=${SKED:-build/cuda/sked}
BACKEND=${BACKEND:-cuda}
WORK=${WORK:-build/training-stepwise}
THREADS=${THREADS:-15}
MINUTES=${MINUTES:-8.5}
STEPS=${STEPS:-20000}
RATE=${RATE:-0.001}
MODEL=$WORK/model.safetensors

sizes=10-60
graphs=
for family in erdos-renyi layered stochastic-block watts-strogatz barabasi-albert; do
    graphs=$graphs$family:$sizes,$family:$sizes:lognormal:0/1,
done
for family in fork-join tree cholesky lu fft; do
    graphs=$graphs$family:$sizes:lognormal:0/1,
done
graphs=${graphs}fork-join:$sizes,tree:$sizes

mkdir -p "$WORK"
set -- "${1:-train}" --graphs "$graphs" --devices 8 --seed 0 --threads "$THREADS" --backend "$BACKEND" --steps "$STEPS" \
    --set policy=stepwise --set least-devices=2 --set transfers=0 --set unequal=0 --set graphs=16 --set batch=48 \
    --set rate="$RATE" --set anneal="$STEPS" --set gentlest=5 --set sharpest=800 --set validate=0
if [ "$1" = finish ]; then
    shift
    exec "$SKED" train "$@" --minutes 0 --resume "$MODEL" --weights-only -o models/stepwise.safetensors
fi
shift
if [ -f "$MODEL" ]; then
    set -- "$@" --resume "$MODEL"
fi
exec "$SKED" train "$@" --minutes "$MINUTES" -o "$MODEL" -o "$WORK/log.jsonl"
