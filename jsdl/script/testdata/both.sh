#!/bin/bash
#SBATCH --ntasks=2
#SBATCH --time=10
#PBS -l nodes=1:ppn=2
#PBS -l walltime=10:00
echo either
