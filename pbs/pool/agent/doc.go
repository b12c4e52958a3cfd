// Package agent is what runs on a computer of a pool: it asks the pool for jobs while its owner does not
// need the computer, runs them, and brings back what they leave. What it says to the pool is specified in
// package line.
//
// # Folder
//
//	DIR/identity/         key, certificate
//	DIR/pool.json         where the pool is, and its fingerprint
//	DIR/jobs/TAG/         a job, for its user alone; removed afterwards
//	    job.json          the assignment, and by what word it was taken
//	    granted           the pool has given the start token
//	    work/             the sandbox: the program's own files
//	    ctl/              its control directory at this computer (package control)
//
// The program stands under a supervisor (package supervise) that ends with the agent: nothing of a job is
// left at a computer whose agent has ended.
package agent
