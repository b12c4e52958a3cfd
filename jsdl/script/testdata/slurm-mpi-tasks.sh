#!/bin/sh
#SBATCH -n 6
#SBATCH -t 10
#SBATCH --mem-per-cpu=256
#SBATCH -o out.%j
#SBATCH -e err.%j
echo "tasks $SLURM_NTASKS"
echo to stderr >&2
