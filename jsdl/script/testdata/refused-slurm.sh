#!/bin/bash
#SBATCH --licenses=matlab:1
#SBATCH --reservation=course --qos=high
#SBATCH --nodelist=n[1-4] -x n9
#SBATCH --time=forever
#SBATCH --mem=4Q
#SBATCH --mem=0
#SBATCH --nodes=2 --ntasks-per-node=1 --ntasks=5
#SBATCH --gres=gpu:1 extra words
#SBATCH --frobnicate -Z
#SBATCH --dependency=afterok:4711
#SBATCH --constraint=a|b
#SBATCH --signal=R:USR1
#SBATCH --array=5-1
#SBATCH --partition=a,b
#SBATCH --chdir=/scratch/alice
#SBATCH --output="x
