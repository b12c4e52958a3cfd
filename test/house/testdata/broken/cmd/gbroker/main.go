// Command gbroker may print, and end.
package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	fmt.Println(context.Background())
	os.Exit(1)
}
