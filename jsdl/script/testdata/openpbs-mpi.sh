#!/bin/bash
#PBS -l select=2:ncpus=4:mpiprocs=4:mem=2gb
#PBS -l place=scatter
#PBS -l walltime=01:00:00
#PBS -j oe
#PBS -o run.log
wc -l < $PBS_NODEFILE
