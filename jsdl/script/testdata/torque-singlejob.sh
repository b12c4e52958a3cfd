#!/bin/bash
# whole nodes, by Maui
#PBS -l nodes=2:ppn=4,naccesspolicy=singlejob
#PBS -l walltime=15:00
#PBS -v CASE=wing,MODE
#PBS -k oe
echo "case $CASE"
