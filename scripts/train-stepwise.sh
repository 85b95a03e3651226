#!/bin/sh
# Trains the stepwise model of models/, in pieces that can be stopped and continued.
#
#     scripts/train-stepwise.sh                one piece of up to MINUTES (default 8.5); repeat until STEPS
#     scripts/train-stepwise.sh finish         the weights alone, into models/stepwise.safetensors
#
# WORK, SKED, BACKEND, THREADS as in train-model.sh. The result depends on STEPS, ANNEAL, RATE, the seed and the device, not
# on threads or on where the pieces end. Training ends long before the rate has fallen: models/README.md says why.
set -eu
cd "$(dirname "$0")/.."
WORK=${WORK:-build/training-stepwise}
STEPS=${STEPS:-12875}
ANNEAL=${ANNEAL:-55300}
OUT=models/stepwise.safetensors

sizes=10-60
graphs=
for family in erdos-renyi layered stochastic-block watts-strogatz barabasi-albert; do
    graphs=$graphs$family:$sizes,$family:$sizes:lognormal:0/1,
done
for family in fork-join tree cholesky lu fft; do
    graphs=$graphs$family:$sizes:lognormal:0/1,
done
graphs=${graphs}fork-join:$sizes,tree:$sizes

settings="--devices 8 --set policy=stepwise --set rule=list --set least-devices=2 --set graphs=8 --set batch=32"
settings="$settings --set rate=${RATE:-0.0005} --set gentlest=10 --set sharpest=500"
finishing="--set blend=${BLEND:-1}"
. scripts/train-pieces.sh
