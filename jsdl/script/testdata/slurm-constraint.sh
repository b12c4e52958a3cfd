#!/bin/bash
#SBATCH --constraint="infiniband&bigmem"
#SBATCH --ntasks=4
#SBATCH --time=15
#SBATCH --tmp=10G
echo "tasks $SLURM_NTASKS"
