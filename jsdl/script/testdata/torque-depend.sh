#PBS -W depend=afterokarray:xeon16.01JD3V0QX2M6W8T9Z4C5A7B1EF.all,umask=022
  #PBS -r n
#PBS -p 10
#PBS -l walltime=60
#PBS -h
#PBS -a 202611240830
echo no first line
