#!/bin/bash
#PBS -J 1-9:2%2
#PBS -N steps
#PBS -l select=1:ncpus=1,walltime=5:00
#PBS -o steps.^array_index^.out
#PBS -e steps.^array_index^.err
echo $PBS_ARRAY_INDEX
