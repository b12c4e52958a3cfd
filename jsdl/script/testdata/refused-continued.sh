#!/bin/bash
  #PBS -N long -l select=1:ncpus=2:mpiprocs=2 \
       -l walltime=15:00 \
       -l place=pack
#PBS -v "NOTE=two words,K=1"
echo "note $NOTE $K"
