// Package store does what is banned.
package store

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"
)

func F() {
	println("x")
	fmt.Println("x")
	log.Fatal("x")
	time.Sleep(1)
	os.Exit(1)
	_ = context.Background()
	_ = context.TODO()
	//house:allow context: it must end after its caller
	_ = context.TODO()
	//house:allow context
	_ = context.TODO()
}
