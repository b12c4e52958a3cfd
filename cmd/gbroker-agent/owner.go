package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/internal/cli"
	"gbroker/pbs/pool/agent"
)

func joinCommand() *cobra.Command {
	var dir, name string
	cmd := &cobra.Command{
		Use:     "join --dir DIR CODE",
		Example: "  gbroker-agent join --dir ~/agent \"$(cat code)\"",
		Short:   "Make this computer one of a pool, by a code of its operator",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if name == "" {
				host, err := os.Hostname()
				if err != nil {
					return err
				}
				name, _, _ = strings.Cut(strings.ToLower(host), ".")
			}
			if err := os.MkdirAll(dir, 0o711); err != nil {
				return err
			}
			if err := agent.Join(cmd.Context(), dir, name, args[0]); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is of the pool now: gbroker-agent run --dir %s\n", name, dir)
			return nil
		},
	}
	folder(cmd, &dir)
	cmd.Flags().StringVar(&name, "name", "", "name of the computer in the pool; its host name if left out")
	return cmd
}

func statusCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "status --dir DIR",
		Example: "  gbroker-agent status --dir ~/agent",
		Short:   "Say what the agent does",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := agent.Joined(dir); err != nil {
				return err
			}
			s, err := agent.ReadState(dir)
			if errors.Is(err, fs.ErrNotExist) {
				return cli.Exit(cli.No, fmt.Errorf("the agent of %s has not run yet: gbroker-agent run --dir %s", dir, dir))
			}
			if err != nil {
				return err
			}
			runs, err := agent.Runs(dir)
			if err != nil {
				return err
			}
			if !runs {
				return cli.Exit(cli.No, fmt.Errorf("the agent of %s does not run, and was last heard %s ago: gbroker-agent run --dir %s", dir, time.Since(s.At).Round(time.Second), dir))
			}
			out := cmd.OutOrStdout()
			fmt.Fprintln(out, sentence(&s, time.Since(s.At)))
			for _, j := range s.Jobs {
				fmt.Fprintf(out, "job %s: %s, ran %v, processor time %v\n", j.Tag, j.State, time.Duration(j.Wall)*time.Millisecond, time.Duration(j.CPU)*time.Millisecond)
			}
			return nil
		},
	}
	folder(cmd, &dir)
	return cmd
}

// sentence says what the agent told some time ago.
func sentence(s *agent.State, ago time.Duration) string {
	connected, why := "connected to", ""
	if !s.Connected {
		connected = "not connected to"
	}
	if s.Why != "" {
		why = ": " + s.Why
	}
	return fmt.Sprintf("%s the pool at %s; %s%s (told %s ago)", connected, strings.TrimPrefix(s.Pool, "https://"), s.Availability, why, ago.Round(time.Second))
}

func pauseCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "pause --dir DIR", Short: "Let nothing run until resume: jobs are suspended at once", Args: cobra.NoArgs,
		Example: "  gbroker-agent pause --dir ~/agent",
		RunE: func(*cobra.Command, []string) error {
			if err := agent.Joined(dir); err != nil {
				return err
			}
			return os.WriteFile(agent.PauseFile(dir), nil, 0o644)
		},
	}
	folder(cmd, &dir)
	return cmd
}

func resumeCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "resume --dir DIR", Short: "End a pause", Args: cobra.NoArgs,
		Example: "  gbroker-agent resume --dir ~/agent",
		RunE: func(*cobra.Command, []string) error {
			if err := agent.Joined(dir); err != nil {
				return err
			}
			if err := os.Remove(agent.PauseFile(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		},
	}
	folder(cmd, &dir)
	return cmd
}

func leaveCommand() *cobra.Command {
	var dir string
	var now bool
	cmd := &cobra.Command{
		Use: "leave --dir DIR", Short: "Leave the pool for good", Args: cobra.NoArgs,
		Long: `leave takes this computer out of its pool. A job that it holds is cut off, and LOST where it may not run
twice: where there is one nothing is done (exit 1), unless --now is given. Its name is free again: a new code of the
operator brings it back.`,
		Example: "  gbroker-agent leave --dir ~/agent",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if held := holds(dir); len(held) > 0 && !now {
				return cli.Exit(cli.No, fmt.Errorf("this computer holds %s: leaving cuts off what runs; wait until it has ended (gbroker-agent status), or say --now", strings.Join(held, ", ")))
			}
			return agent.Leave(cmd.Context(), dir)
		},
	}
	folder(cmd, &dir)
	cmd.Flags().BoolVar(&now, "now", false, "leave also while jobs are here")
	return cmd
}

// holds names the jobs of an agent that runs.
func holds(dir string) (tags []string) {
	s, err := agent.ReadState(dir)
	if runs, e := agent.Runs(dir); err != nil || e != nil || !runs {
		return nil
	}
	for _, j := range s.Jobs {
		tags = append(tags, "job "+j.Tag)
	}
	return tags
}
