#!/bin/sh
#PBS -l select=1:ncpus=2
#PBS -l walltime=1:00
kill -9 $$
