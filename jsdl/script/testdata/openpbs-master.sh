#!/bin/bash
#PBS -l select=1:ncpus=1:mem=4gb+2:ncpus=4:mpiprocs=4:mem=1gb
#PBS -l walltime=10:00
#PBS -q workq
wc -l < $PBS_NODEFILE
