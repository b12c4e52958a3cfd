package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"gbroker/daemon"
	"gbroker/overlay"
)

func gridCommand() *cobra.Command {
	var key, keyFile string
	var replace bool
	cmd := &cobra.Command{
		Use:   "grid --config FILE",
		Short: "Give this broker the key of a grid",
		Long: `grid writes the key of a grid to grid.key beside the neighbours' file (mode 0600) and names it there:
"grid_key: grid.key". Brokers that share a key find each other's sites and jobs by the
directory that they keep together, beyond their neighbours: "gclient sites --all", and "gclient
status" of a job anywhere. Who has the key may speak that directory and nothing else; jobs go
to neighbours alone.

Without a key a new one is made, and printed; where there is one already, that one is: give it to the other administrators by a way that nobody else reads. --key-file reads one, and
--key - reads it from standard input: what follows --key otherwise is seen by all who may list processes. --replace puts a key in the place of another: a new one, if none is given. A running
daemon takes it up at once, and warns of a neighbour that has another one, as "gbroker status" does. To take a key out, remove the line grid_key.`,
		Example: `  gbroker grid --config a/gbroker.yaml
  gbroker grid --config b/gbroker.yaml --key-file a/grid.key
  gbroker grid --config a/gbroker.yaml --replace | ssh b gbroker grid --config gbroker.yaml --replace --key -`,
		Args: cobra.NoArgs,
	}
	file := configFlag(cmd)
	cmd.Flags().StringVar(&key, "key", "", "the grid's `KEY`, from a broker that has it; - reads it from standard input")
	cmd.Flags().StringVar(&keyFile, "key-file", "", "a `FILE` with the grid's key")
	cmd.Flags().BoolVar(&replace, "replace", false, "take the key in the place of the one that is there; a new one, if none is given")
	cmd.MarkFlagsMutuallyExclusive("key", "key-file")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := daemon.Load(*file)
		if err != nil {
			return err
		}
		k, given, err := gridKeyGiven(cmd.InOrStdin(), key, keyFile)
		switch {
		case err != nil:
			return err
		case given:
		case replace || cfg.GridKey == (overlay.GridKey{}):
			k = overlay.NewGridKey()
		default:
			k = cfg.GridKey
		}
		if err := daemon.SetGridKey(cmd.Context(), cfg, k, replace); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), k.Text())
		return nil
	}
	return cmd
}

// gridKeyGiven is the key of the flags, of the file that they name, or of standard input.
func gridKeyGiven(in io.Reader, key, file string) (k overlay.GridKey, given bool, err error) {
	const longest = 4096
	switch {
	case file != "":
		f, err := os.Open(file)
		if err != nil {
			return k, false, fmt.Errorf("reading the grid's key: %w", err)
		}
		defer f.Close()
		in = f
	case key == "":
		return k, false, nil
	case key != "-":
		k, err = overlay.ParseGridKey(key)
		return k, true, err
	}
	text, err := io.ReadAll(io.LimitReader(in, longest))
	if err != nil {
		return k, false, fmt.Errorf("reading the grid's key: %w", err)
	}
	k, err = overlay.ParseGridKey(string(text))
	return k, true, err
}
