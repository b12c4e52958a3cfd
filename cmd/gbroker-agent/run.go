package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/grid"
	"gbroker/internal/cli"
	"gbroker/internal/logger"
	"gbroker/pbs/pool/agent"
	"gbroker/pbs/pool/line"
)

// settings are the flags of run.
type settings struct {
	dir, account, hours, scripted string
	level, format                 string
	cores                         int
	memory, disk                  int64
	speed                         float64
	users, properties             []string
	network, dedicated            bool
	rules                         agent.Rules
}

func folder(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "dir", "", "folder of the agent (required)")
	cmd.MarkFlagRequired("dir")
}

func runCommand() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:     "run --dir DIR",
		Example: "  gbroker-agent run --dir ~/agent",
		Short:   "Run jobs of the pool while the owner does not need the computer",
		Long: `run serves the pool until it gets SIGTERM or SIGINT; then what runs is ended. All that
the flags leave out is measured, or as little as the owner would give unasked.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	folder(cmd, &s.dir)
	f := cmd.Flags()
	f.IntVar(&s.cores, "cores", 0, "cores for jobs; 0: all but one")
	cli.SizeVar(cmd, &s.memory, "memory", "memory for jobs, as 2GiB; 0: half")
	cli.SizeVar(cmd, &s.disk, "disk", "disk that one job may take, as 20GB; 0: a tenth of what is free")
	f.Float64Var(&s.speed, "speed", 0, "speed of a core relative to the reference; 0: measured, and again every six hours while nobody needs the computer")
	f.StringSliceVar(&s.users, "user", nil, "USER@SITE whose jobs may run; none: everybody's")
	f.StringSliceVar(&s.properties, "property", nil, "a property that jobs may ask for")
	f.BoolVar(&s.network, "network", false, "jobs that ask for it may use the network")
	f.BoolVar(&s.dedicated, "dedicated", false, "nobody sits at this computer")
	f.StringVar(&s.account, "account", "nobody", "local account of the jobs, where the agent runs as root")
	f.StringVar(&s.hours, "hours", "0-24", "hours of the day in which jobs may run, such as 18-8")
	cli.SpanVar(cmd, &s.rules.Quiet, "quiet", 5*time.Minute, "how long after the owner's last activity jobs wait")
	f.Float64Var(&s.rules.Load, "load", 0, "load average for each core, with the jobs', above which jobs are suspended; 0: any")
	f.BoolVar(&s.rules.Battery, "battery", false, "jobs may run on battery")
	f.StringVar(&s.level, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&s.format, "log-format", "text", "text or json")
	f.StringVar(&s.scripted, "owner-file", "", "file that says free, active or paused, in place of the owner (for tests)")
	return cmd
}

func (s *settings) run(cmd *cobra.Command) error {
	if _, err := fmt.Sscanf(s.hours, "%d-%d", &s.rules.From, &s.rules.To); err != nil || s.rules.From < 0 || s.rules.From > 24 || s.rules.To < 0 || s.rules.To > 24 {
		return cli.BadUsage("--hours %q: write two hours, such as 18-8", s.hours)
	}
	s.rules.From, s.rules.To = s.rules.From%24, s.rules.To%24
	for _, u := range s.users {
		if name, site, is := strings.Cut(u, "@"); !is || name == "" || grid.CheckName(site) != nil {
			return cli.BadUsage("--user %q: write USER@SITE, with the site at which that user hands jobs in", u)
		}
	}
	if s.format != "text" && s.format != "json" {
		return cli.BadUsage("--log-format %q: text or json", s.format)
	}
	log, _, err := logger.New(s.level, s.format)
	if err != nil {
		return cli.BadUsage("--log-level: %w", err)
	}
	defer func() { _ = log.Sync() }()
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return err
	}
	account := s.account
	if os.Geteuid() != 0 {
		account = "" // it cannot be chosen
	}
	runner, err := agent.NewRunner(agent.Linux{Account: account, Apart: true, Idle: true, Grouped: true, Inside: true, Logger: log})
	if err != nil {
		return err
	}
	var measure func() float64
	if s.speed == 0 {
		measure = func() float64 { return agent.Measure(agent.ProcessorTime) }
	}
	a, err := agent.New(agent.Config{
		Dir: dir, Computer: s.computer(dir), Disk: s.disk, Runner: runner, Owner: s.owner(dir), Logger: log,
		Measure: measure,
	})
	if err != nil {
		return err
	}
	return a.Run(cmd.Context())
}

func (s *settings) owner(dir string) agent.Owner {
	if s.scripted != "" {
		return agent.Scripted(s.scripted)
	}
	senses := agent.NewSenses()
	if s.dedicated {
		s.rules.Quiet, s.rules.Load = 0, 0
	}
	return &agent.Desk{Senses: senses, Rules: s.rules, Pause: agent.PauseFile(dir)}
}

// systems and architectures in JSDL's words.
var (
	systems       = map[string]string{"linux": "LINUX", "windows": "WINNT", "darwin": "MACOS"}
	architectures = map[string]string{"amd64": "x86_64", "arm64": "arm64", "386": "x86_32", "ppc64le": "powerpc"}
)

// computer is what this computer has for the pool.
func (s *settings) computer(dir string) line.Computer {
	memory, disk := agent.Capacity(dir)
	if s.cores == 0 {
		s.cores = max(runtime.NumCPU()-1, 1)
	}
	if s.memory == 0 {
		s.memory = memory / 2
	}
	if s.disk == 0 {
		s.disk = disk / 10
	}
	if s.speed == 0 {
		s.speed = agent.Measure(agent.ProcessorTime)
	}
	system := systems[runtime.GOOS]
	if system == "" {
		system = strings.ToUpper(runtime.GOOS)
	}
	return line.Computer{
		Architecture: architectures[runtime.GOARCH], System: system, Cores: s.cores, Memory: s.memory, Disk: s.disk, Speed: s.speed,
		Users: s.users, Properties: s.properties, Network: s.network, Dedicated: s.dedicated, Policy: s.rules.Policy(time.Now()),
	}
}
