#!/bin/bash
#PBS -l select=2:ncpus=4:mpiprocs=2:ompthreads=2
#PBS -l walltime=20:00
echo "threads $OMP_NUM_THREADS"
