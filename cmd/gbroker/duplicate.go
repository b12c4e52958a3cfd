package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gbroker/api"
)

func resumeCommand() *cobra.Command {
	return duplicateCommand(&cobra.Command{
		Use:   "resume --config FILE",
		Short: "Let a broker go on that has stopped until an administrator decides",
		Long: `A broker that hears of another one under its own identity (a copied folder, a second
machine with the same key) stops all it does. Stop the wrong one of the two for good,
then say resume at the right one. It asks all neighbours what that one did, before it
starts anything, and names them. Those that will not answer are forgotten, or removed
from the neighbours.

At a broker that was not stopped resume changes nothing (exit 1): see had-duplicate.

"gclient sites" and the log say which it is.`,
		Example: "  gbroker resume --config FILE",
	}, (*api.Client).Resume)
}

func hadDuplicateCommand() *cobra.Command {
	return duplicateCommand(&cobra.Command{
		Use:   "had-duplicate --config FILE",
		Short: "Say that a broker had a duplicate that nobody noticed",
		Long: `Two brokers under one identity (a copied folder, a second machine with the same key)
stop as soon as a neighbour has met both, which has an alarm then. If you have stopped the wrong one for good
before that, say had-duplicate at the right one: nobody else knows what the other did.
It asks all neighbours, and starts nothing until they have answered. Said again, all are
asked again.

At a broker that has stopped say resume.`,
		Example: "  gbroker had-duplicate --config FILE",
	}, (*api.Client).HadDuplicate)
}

// duplicateCommand says one of the two words, and who is asked then.
func duplicateCommand(cmd *cobra.Command, say func(*api.Client, context.Context) (api.Asking, error)) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = onDaemon(configFlag(cmd), func(cmd *cobra.Command, client *api.Client, _ []string) error {
		done, err := say(client, cmd.Context())
		if err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), asking(done))
		return nil
	})
	return cmd
}

// asking says what a broker waits for that goes on.
func asking(done api.Asking) string {
	if len(done.Asked) == 0 {
		return "The broker goes on."
	}
	return fmt.Sprintf("The broker goes on when all that it asks have answered what the other one did: %s. Until then it starts nothing.\n"+
		"One that will not come back: `gbroker forget NAME`. `gbroker status` shows who is left.", strings.Join(done.Asked, ", "))
}
