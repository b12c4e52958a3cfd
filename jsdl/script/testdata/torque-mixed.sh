#!/bin/sh
### nodes of two kinds
#PBS -l nodes=2:ppn=4+1:ppn=2
#PBS -l pmem=500mb
#PBS -l walltime=30:00
#PBS -o mixed.out -e mixed.err
wc -l < $PBS_NODEFILE
