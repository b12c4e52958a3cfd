#!/bin/bash
#PBS -l nodes=1:ppn=0
#PBS -l select=1:ncpus=2:host=n1
#PBS -t 1-4
#PBS -q batch@server
#PBS -W stagein=a@h:b,group_list=g,flavour=3
#PBS -I -X
#PBS -l matlab=2,cput=1:00
#PBS -W depend=on:2
#PBS -l walltime=1:2:3:4:5 # no comment here
#PBS -l nodes=2:a+1:b
#PBS -a 9999
#PBS -S bash
