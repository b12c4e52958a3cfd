#!/bin/bash
#SBATCH --job-name=ckpt
#SBATCH --time=00:10:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@120

trap 'echo saving; exit 0' USR1
echo running
