#!/bin/bash -e
#SBATCH --partition=short
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=0:20:00
#SBATCH --mail-type=ALL
#SBATCH --chdir=work
#SBATCH --distribution=block:cyclic
if command -v module >/dev/null; then module purge; fi
echo "done in $(basename "$PWD")"
