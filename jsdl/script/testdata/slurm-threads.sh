#!/bin/bash
#SBATCH -J parallel_job
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=4
#SBATCH --mem-per-cpu=600mb
#SBATCH -t 00:05:00
#SBATCH -o parallel_%j.log
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
echo "threads $OMP_NUM_THREADS"
