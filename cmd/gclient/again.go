package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

// again is the command line with which this program was called, for a shell, under the key of what was handed in: the same
// words make the same job, and no second one.
func again(cmd *cobra.Command, key string) string {
	words := slices.Clone(os.Args)
	words[0] = cmd.Root().Name()
	if at := behindName(cmd, words); !cmd.Flags().Changed("key") && at > 0 {
		words = slices.Insert(words, at, "--key", key)
	}
	for i, w := range words {
		words[i] = shellWord(w)
	}
	line := strings.Join(words, " ")
	if cmd.Flags().Arg(0) == stdin {
		line += ", with the same script on standard input"
	}
	return line
}

// behindName is the place behind the name of the command among the words of the command line; 0 where it is not found. As
// cobra has it, a flag before the name takes the next word, unless its value is in it.
func behindName(cmd *cobra.Command, words []string) int {
	names := strings.Fields(cmd.CommandPath())[1:]
	for i := 1; i < len(words); i++ {
		switch w := words[i]; {
		case strings.HasPrefix(w, "-") && !strings.Contains(w, "="):
			i++
		case w == names[0]:
			if names = names[1:]; len(names) == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// shellWord quotes a word for a shell where that needs it.
func shellWord(w string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-+=./:,@%", r) || r > 0x9f
	}
	if w != "" && !strings.ContainsFunc(w, func(r rune) bool { return !plain(r) }) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// notAccepted says what is known of a submission that failed, of a job, or what else was handed in.
func notAccepted(cmd *cobra.Command, what, key string, err error) error {
	if inDoubt(cmd.Context(), err) {
		return cli.Exit(cli.Failed, fmt.Errorf("it is not known whether the broker got the %s: %w; this makes sure, and makes no second one: %s", what, err, again(cmd, key)))
	}
	if errors.Is(err, grid.ErrInvalid) {
		return fmt.Errorf("the broker refuses it: %w", err)
	}
	return err
}

// inDoubt tells of an error after which what was asked may have been done.
func inDoubt(ctx context.Context, err error) bool { return interrupted(ctx, err) || api.Lost(err) }

// lacking says of what was accepted that its files did not come.
func lacking(cmd *cobra.Command, what, key string, err error) error {
	return cli.Exit(cli.Code(err), fmt.Errorf("%s: %w; this sends them again: %s", what, err, again(cmd, key)))
}
