#!/bin/bash
#PBS -N long -l select=2:ncpus=1:mpiprocs=1 -l walltime=15:00
#PBS -l place=pack
#PBS -v NOTE=one,K=1
echo "note $NOTE $K"
