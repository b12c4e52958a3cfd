package main

import (
	"errors"

	"github.com/spf13/cobra"

	"gbroker/grid"
	"gbroker/jsdl"
)

func printDocument() *cobra.Command {
	var lenient bool
	cmd := &cobra.Command{
		Use:   "print FILE",
		Short: "Write a JSDL document anew, in the order of its schemas",
		Long: `Read a JSDL document and write the job that it describes as a document in the order of the
schemas, with the prefixes of this project: what is read from that is the same job. What
the document says in several ways stands there once; what has no effect is left out, and
warnings are told on stderr.`,
		Example:           "  gclient print job.jsdl > clean.jsdl",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeDocuments,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := readDocument(args[0])
			if err != nil {
				return err
			}
			d, err := jsdl.Parse(args[0], text, modes(lenient)...)
			if errors.Is(err, grid.ErrInvalid) {
				return mistakes(cmd, err)
			}
			if err != nil {
				return err
			}
			for _, w := range d.Warnings {
				cmd.PrintErrf("gclient: warning: %s\n", printable(w.Error()))
			}
			_, err = cmd.OutOrStdout().Write(jsdl.Print(&d.Job, d.Staging))
			return err
		},
	}
	lenientFlag(cmd, &lenient)
	return cmd
}
