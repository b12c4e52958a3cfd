// Package dialect gives the batch scripts of sbatch and qsub the variables that they expect, wherever they
// run. What follows from the script itself (its name, its processes, its index) is in the job's own
// environment, written there by package jsdl/script; here come those that depend on the place.
//
// A variable that the batch system of the site sets itself, as Slurm does for a script of Slurm, stands;
// but SLURM_SUBMIT_DIR and PBS_O_WORKDIR are always the folder in which the program begins.
//
//	slurm             SLURM_JOB_ID (here the job's identifier), SLURM_SUBMIT_DIR, SLURM_SUBMIT_HOST,
//	                  SLURM_CLUSTER_NAME (the site), SLURM_JOB_NUM_NODES, SLURM_NNODES,
//	                  SLURM_TASKS_PER_NODE, SLURM_CPUS_ON_NODE, SLURM_NODEID, SLURM_PROCID,
//	                  SLURM_LOCALID, SLURMD_NODENAME, SLURM_ARRAY_JOB_ID
//	torque, openpbs   PBS_JOBID (likewise), PBS_NODEFILE (the host file, a line for each process),
//	                  PBS_O_WORKDIR, PBS_O_HOST, PBS_O_HOME, PBS_O_LOGNAME, PBS_O_PATH, PBS_SERVER,
//	                  PBS_QUEUE, PBS_NODENUM, PBS_TASKNUM, PBS_VNODENUM; openpbs: PBS_JOBDIR
//
// SLURM_JOBID, SLURM_NODELIST, SLURM_JOB_NODELIST and PBS_ENVIRONMENT are there where the batch system
// gives them and not else: by them mpirun knows whom to ask for nodes.
package dialect

import (
	_ "embed"

	"gbroker/grid"
)

//go:embed prelude.sh
var prelude string

// Words are what stands before a program and its arguments on its command line, so that it finds the variables
// of a dialect; none where there is no dialect. The program needs GBROKER_JOB, GBROKER_SITE and
// GBROKER_HOSTFILE in its environment.
func Words(d grid.Dialect) []string {
	if d == "" {
		return nil
	}
	return []string{"/bin/sh", "-c", prelude, "sh", string(d)}
}
