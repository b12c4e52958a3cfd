#!/bin/bash
#SBATCH --ntasks=4
#SBATCH --mem=2000
#SBATCH --time=00:10:00
echo "tasks $SLURM_NTASKS"
