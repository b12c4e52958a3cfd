// Command gclient is the users' program: it hands jobs to a broker, asks after
// them and fetches what they leave.
package main

import (
	"os"

	"gbroker/internal/cli"
)

func main() { os.Exit(cli.Main(newRoot())) }
