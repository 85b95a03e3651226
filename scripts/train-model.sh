#!/bin/sh
# Trains the built-in model of the sampler, in pieces that can be stopped and continued.
#
#     scripts/train-model.sh                   one piece of up to MINUTES (default 8.5); repeat until STEPS
#     scripts/train-model.sh finish            the weights alone, into models/gflownet.safetensors
#
# WORK: folder of the model in training (build/training); SKED, BACKEND, THREADS and MINUTES as in train-pieces.sh. The result
# depends on STEPS, RATE, the seed and the device, not on threads or on where the pieces end.
set -eu
cd "$(dirname "$0")/.."
WORK=${WORK:-build/training}
STEPS=${STEPS:-12000}
OUT=models/gflownet.safetensors

sizes=20-150
graphs=
for family in erdos-renyi layered stochastic-block watts-strogatz barabasi-albert; do
    graphs=$graphs$family:$sizes,$family:$sizes:lognormal:0/1,$family:$sizes:lognormal:0/2,
done
for family in fork-join chain tree cholesky lu fft; do
    graphs=$graphs$family:$sizes:lognormal:0/1,$family:$sizes:lognormal:0/2,
done
graphs=${graphs}fork-join:$sizes,tree:$sizes

settings="--devices 8 --set least-devices=2 --set unequal=0.5 --set graphs=16 --set batch=64 --set rate=${RATE:-0.001}"
settings="$settings --set gentlest=40 --set sharpest=800 --set credit=steps --set lambda=0.98"
. scripts/train-pieces.sh
