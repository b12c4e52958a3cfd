#!/bin/bash
#PBS -N primes
#PBS -l select=1:ncpus=1:mem=1gb
#PBS -l walltime=00:10:00
cd "$PBS_O_WORKDIR"
echo "cpus $NCPUS"
