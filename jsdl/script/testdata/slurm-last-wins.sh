#!/bin/bash
#SBATCH --time=1:00:00
#SBATCH --ntasks=8
#SBATCH --time=20:00
#SBATCH --ntasks=2
echo "tasks $SLURM_NTASKS"
