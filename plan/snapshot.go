package plan

import "gbroker/grid"

// Node is one machine of a site.
type Node struct {
	Name   grid.NodeName
	Cores  int
	Memory int64 // bytes; 0 is not declared: memory is then neither asked nor counted
	Down   bool
}

// Share is the part of a job that lies on one node.
type Share struct {
	Node      int // index into Snapshot.Nodes
	Processes int
	Cores     int
	Memory    int64
}

// Running is a job that holds its shares until End at the latest.
type Running struct {
	Job        grid.JobID // "" for a job that is not ours
	Shares     []Share
	Start, End grid.Tick
}

// Waiting is a job in the local queue.
type Waiting struct {
	Job    grid.JobID // "" for a job that is not ours
	Demand grid.Demand
	Limit  grid.Tick // how long the scheduler reserves for it
}

// Snapshot is what a batch system held at one moment.
type Snapshot struct {
	At      grid.Tick
	Site    grid.Site
	Nodes   []Node
	Running []Running
	Waiting []Waiting // in the order in which the scheduler will take them
}

// Question asks for the earliest start of one more job, at the end of the queue.
type Question struct {
	Demand    grid.Demand
	Limit     grid.Tick
	NotBefore grid.Tick // instant: the files are not there sooner
}
