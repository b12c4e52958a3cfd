#!/bin/sh
#SBATCH --mem=0
