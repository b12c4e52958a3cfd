package slurmtest

import (
	"fmt"
	"os/user"
	"path/filepath"
	"strings"
)

// Config is a cluster to be started; its zero value is one of two nodes with two CPUs each
// and the partition batch.
type Config struct {
	Nodes      []Nodes
	Partitions []string // lines of slurm.conf, from PartitionName= on; none is "batch" of all nodes
	// Lines are further lines of slurm.conf, and replace those of the same key.
	Lines []string
	// Gres is gres.conf; "" is none.
	Gres string
}

// Nodes are nodes of one kind. They are called node01, node02, ... in the order of the
// configuration.
type Nodes struct {
	Count, CPUs int
	Memory      int    // MiB; 0 is 2000
	More        string // further words of the line, as Gres=gpu:2 Feature=fast
}

func (c Config) filled() Config {
	if len(c.Nodes) == 0 {
		c.Nodes = []Nodes{{Count: 2, CPUs: 2}}
	}
	if len(c.Partitions) == 0 {
		c.Partitions = []string{"batch Nodes=ALL Default=YES DefaultTime=10 MaxTime=1-0 State=UP"}
	}
	return c
}

func (c Config) count() int {
	n := 0
	for _, group := range c.Nodes {
		n += group.Count
	}
	return n
}

// text is slurm.conf: of a controller at the first port, and nodes at those that follow.
func (c Config) text(dir, name, socket string, ports []port) (string, error) {
	me, err := user.Current()
	if err != nil {
		return "", err
	}
	lines := []string{
		"ClusterName=" + name,
		"SlurmctldHost=localhost(127.0.0.1)",
		fmt.Sprintf("SlurmctldPort=%d", ports[0].number),
		"SlurmUser=" + me.Username,
		"SlurmdUser=" + me.Username,
		"AuthType=auth/munge",
		"CredType=cred/munge",
		"AuthInfo=socket=" + socket,
		"StateSaveLocation=" + filepath.Join(dir, "state"),
		"SlurmdSpoolDir=" + filepath.Join(dir, "spool", "%n"),
		"SlurmctldPidFile=" + filepath.Join(dir, "slurmctld.pid"),
		"SlurmdPidFile=" + filepath.Join(dir, "slurmd.%n.pid"),
		"SlurmctldLogFile=" + filepath.Join(dir, "slurmctld.log"),
		"SlurmdLogFile=" + filepath.Join(dir, "slurmd.%n.log"),
		"ProctrackType=proctrack/linuxproc",
		"TaskPlugin=task/none",
		"JobAcctGatherType=jobacct_gather/none",
		"AccountingStorageType=accounting_storage/none",
		"SelectType=select/cons_tres",
		"SelectTypeParameters=CR_Core",
		"SchedulerType=sched/backfill",
		"SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=1,bf_resolution=1,bf_window=20160,bf_continue,bf_max_job_test=2000",
		"SlurmdParameters=config_overrides",
		"ReturnToService=1",
		"JobCompType=jobcomp/filetxt",
		"JobCompLoc=" + filepath.Join(dir, "jobcomp.log"),
		"MailProg=/bin/true",
		"MpiDefault=none",
		"CommunicationParameters=NoInAddrAny,NoCtldInAddrAny",
		"SwitchType=switch/none",
		"SlurmctldTimeout=60",
		"SlurmdTimeout=60",
		"InactiveLimit=0",
		"KillWait=2",
		"MinJobAge=300",
		"MessageTimeout=10",
	}
	lines = replaced(lines, c.Lines)
	first := 1
	for _, group := range c.Nodes {
		lines = append(lines, group.line(first, ports[first].number))
		first += group.Count
	}
	for _, partition := range c.Partitions {
		lines = append(lines, "PartitionName="+partition)
	}
	return strings.Join(lines, "\n") + "\n", nil
}

func (n Nodes) line(first, port int) string {
	memory := n.Memory
	if memory == 0 {
		memory = 2000
	}
	return fmt.Sprintf("NodeName=node[%02d-%02d] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[%d-%d] "+
		"CPUs=%d Boards=1 SocketsPerBoard=1 CoresPerSocket=%d ThreadsPerCore=1 RealMemory=%d State=UNKNOWN %s",
		first, first+n.Count-1, port, port+n.Count-1, n.CPUs, n.CPUs, memory, n.More)
}

// replaced puts lines in the place of those of the same key, else behind them.
func replaced(lines, by []string) []string {
	for _, line := range by {
		key, _, _ := strings.Cut(line, "=")
		at := len(lines)
		for i, old := range lines {
			if strings.HasPrefix(old, key+"=") {
				at = i
			}
		}
		if at == len(lines) {
			lines = append(lines, "")
		}
		lines[at] = line
	}
	return lines
}
