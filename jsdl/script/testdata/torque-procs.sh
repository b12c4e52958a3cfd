#!/bin/csh -f
#PBS -l procs=3
#PBS -l walltime=05:00
#PBS -l vmem=3gb
#PBS -S /bin/sh
echo three
