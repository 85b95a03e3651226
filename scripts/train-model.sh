#!/bin/sh
# Trains the built-in model of the sampler, in pieces that can be stopped and continued.
#
#     THREADS=16 scripts/train-model.sh        one piece of up to MINUTES (default 8.5); repeat until STEPS
#     scripts/train-model.sh finish            the weights alone, into models/gflownet.safetensors
#
# SKED: the command (build/sked). WORK: folder of the model in training (build/training). The result depends on
# STEPS, RATE and the seed alone, not on threads or on where the pieces end.
set -eu
cd "$(dirname "$0")/.."
SKED=${SKED:-build/sked}
WORK=${WORK:-build/training}
THREADS=${THREADS:-2}
MINUTES=${MINUTES:-8.5}
STEPS=${STEPS:-12000}
RATE=${RATE:-0.001}
MODEL=$WORK/model.safetensors

sizes=20-500
graphs=
for family in erdos-renyi layered stochastic-block watts-strogatz barabasi-albert; do
    graphs=$graphs$family:$sizes,$family:$sizes:lognormal:0/1,
done
graphs=${graphs}fork-join:$sizes,tree:$sizes

mkdir -p "$WORK"
set -- "${1:-train}" --graphs "$graphs" --devices 8 --seed 0 --threads "$THREADS" --steps "$STEPS" \
    --set least-devices=2 --set graphs=16 --set rate="$RATE" --set validate=250
if [ "$1" = finish ]; then
    shift
    exec "$SKED" train "$@" --minutes 0 --resume "$MODEL" --weights-only -o models/gflownet.safetensors
fi
shift
if [ -f "$MODEL" ]; then
    set -- "$@" --resume "$MODEL"
fi
exec "$SKED" train "$@" --minutes "$MINUTES" -o "$MODEL" -o "$WORK/log.jsonl"
