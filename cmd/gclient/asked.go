package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/internal/cli"
)

// answered asks the broker for one thing, and prints it for people or as JSON.
func answered[T any](p *program, cmd *cobra.Command, asJSON bool, ask func(*api.Client, context.Context) (T, error), print func(io.Writer, T) error) error {
	c, err := p.client(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := ask(c, cmd.Context())
	if err != nil {
		return err
	}
	if asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), list)
	}
	return print(cmd.OutOrStdout(), list)
}
