package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"gbroker/grid"
)

func program(result error) *cobra.Command {
	root := &cobra.Command{Use: "prog", Long: "A program."}
	leaf := &cobra.Command{Use: "leaf ID", Args: cobra.ExactArgs(1),
		RunE: func(*cobra.Command, []string) error { return result }}
	leaf.Flags().Int("n", 0, "")
	leaf.Flags().Bool("yes", false, "")
	CountVar(leaf, new(int), "count", 0, 1, 16, "")
	SpanWithin(leaf, new(time.Duration), "for", 0, time.Second, 367*24*time.Hour, "")
	group := &cobra.Command{Use: "group", Long: "A group."}
	group.AddCommand(&cobra.Command{Use: "add", RunE: func(*cobra.Command, []string) error { return nil }})
	pair := &cobra.Command{Use: "pair ID DIR", Args: cobra.ExactArgs(2), RunE: leaf.RunE}
	pair.Flags().String("dir", "", "the folder")
	site := &cobra.Command{Use: "site", Long: "A site."}
	site.AddCommand(&cobra.Command{Use: "list", Args: cobra.NoArgs, RunE: leaf.RunE})
	site.PersistentFlags().String("config", "", "the site's `FILE`")
	if err := errors.Join(pair.MarkFlagRequired("dir"), site.MarkPersistentFlagRequired("config")); err != nil {
		panic(err)
	}
	root.AddCommand(leaf, group, pair, site)
	return root
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args   string
		result error
		code   int
		stderr string // a part of it; "" asks for none
	}{
		{"leaf x", nil, 0, ""},
		{"leaf x", fmt.Errorf("job x: %w", grid.ErrNotFound), 1, "prog: job x: not found\n"},
		{"leaf x", fmt.Errorf("job x: %w", grid.ErrInvalid), 1, "prog: job x\n"},
		{"leaf x", fmt.Errorf("job x: %w", grid.ErrUnavailable), 3, "prog: job x\n"},
		{"leaf x", fmt.Errorf("%w: it has ended", grid.ErrInvalid), 1, "prog: it has ended\n"},
		{"leaf x", fmt.Errorf("reserving: %w: it is too large", grid.ErrInvalid), 1, "prog: reserving: it is too large\n"},
		{"leaf x", errors.New("its name: invalid"), 3, "prog: its name: invalid\n"},
		{"leaf x", fmt.Errorf("job x: %w", grid.ErrForbidden), 1, "not allowed"},
		{"leaf x", fmt.Errorf("job x: %w", grid.ErrNotYet), 3, "not yet"},
		{"leaf x", errors.New("disk on fire"), 3, "prog: disk on fire\n"},
		{"leaf x", Exit(77, nil), 77, ""},
		{"leaf x", Exit(0, nil), 0, ""},
		{"leaf x", fmt.Errorf("more: %w", Exit(255, errors.New("why"))), 255, "prog: more: why\n"},
		{"leaf x", BadUsage("no %s", "sense"), 2, "Run 'prog leaf --help'"},
		{"leaf", nil, 2, "prog: 'prog leaf' takes ID, and nothing is given\n"},
		{"leaf x y", nil, 2, "prog: 'prog leaf' takes ID, and 2 words are given: x y\n"},
		{"pair x", nil, 2, "prog: 'prog pair' takes ID DIR, and 1 word is given: x\n"},
		{"pair x y", nil, 2, "prog: --dir is missing: the folder\n"},
		{"group", nil, 2, "A group."},
		{"site", nil, 2, "A site."},
		{"site lsit", nil, 2, `unknown command "lsit"; did you mean "list"?`},
		{"site list x --config f", nil, 2, "prog: 'prog site list' takes nothing besides its flags, and 1 word is given: x\n"},
		{"site list", nil, 2, "prog: --config is missing: the site's FILE\n"},
		{"leaf --what x", nil, 2, "unknown flag: --what\n"},
		{"leaf --cuont=3 x", nil, 2, "unknown flag: --cuont; did you mean --count?\n"},
		{"leaf --n=z x", nil, 2, "prog: --n z: write a whole number\n"},
		{"leaf --yes=z x", nil, 2, "prog: --yes z: write true or false\n"},
		{"leaf --count=0 x", nil, 2, "prog: --count 0: write a whole number from 1 to 16\n"},
		{"leaf --count=17 x", nil, 2, "prog: --count 17: write a whole number from 1 to 16\n"},
		{"leaf --count=16 x", nil, 0, ""},
		{"leaf --for=5 x", nil, 2, "has no unit: write 5s for seconds, 5m for minutes, 5h for hours\n"},
		{"leaf --for=0s x", nil, 2, "prog: --for 0s: write 1s to 367d\n"},
		{"leaf --for=100000h x", nil, 2, "prog: --for 100000h: write 1s to 367d\n"},
		{"leaf --for=3d x", nil, 0, ""},
		{"leav", nil, 2, `unknown command "leav"; did you mean "leaf"?`},
		{"group foo", nil, 2, `unknown command "foo"`},
		{"group add", nil, 0, ""},
		{"", nil, 2, "A program."},
		{"--help", nil, 0, ""},
		{"help leaf", nil, 0, ""},
		{"help nothing", nil, 2, "prog: there is no command \"nothing\" to explain\n"},
		{"help leav", nil, 2, "prog: there is no command \"leav\" to explain; did you mean \"leaf\"?\n"},
		{"help site lsit", nil, 2, "prog: there is no command \"site lsit\" to explain; did you mean \"site list\"?\n"},
		{"completion bash", nil, 0, ""},
		{"--version", nil, 0, ""},
	} {
		var out, errs bytes.Buffer
		code := Run(context.Background(), program(c.result), strings.Fields(c.args), &out, &errs)
		if code != c.code {
			t.Errorf("prog %s (%v): exit code %d, want %d; stderr %q", c.args, c.result, code, c.code, errs.String())
		}
		if c.stderr == "" && errs.Len() > 0 || !strings.Contains(errs.String(), c.stderr) {
			t.Errorf("prog %s (%v): stderr %q, want %q in it", c.args, c.result, errs.String(), c.stderr)
		}
	}
}

func TestAmountsAreInFull(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "0", 5.6e-05: "0.000056", 250.5: "250.5", 1e7: "10000000"} {
		if got := Amount(v); got != want {
			t.Errorf("%v is told as %s, not %s", v, got, want)
		}
	}
}
