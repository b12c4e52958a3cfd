#!/bin/bash
#PBS -l select=2:ncpus=4:mpiprocs=4
#PBS -l place=scatter:excl
#PBS -l walltime=3600
#PBS -r y
#PBS -W sandbox=PRIVATE
echo whole
