package pbstest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// folder is a temporary folder that other accounts may enter.
func folder(t testing.TB) string {
	dir, err := os.MkdirTemp("", "pbstest")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := os.RemoveAll(dir)
		for end := time.Now().Add(lastWords); err != nil && time.Now().Before(end); err = os.RemoveAll(dir) {
			time.Sleep(50 * time.Millisecond) //house:allow sleep: nobody tells when a wrapper has written its last
		}
		if err != nil {
			t.Errorf("%v: somebody still writes there: %v", err, below(dir))
		}
	})
	return dir
}

// lastWords is how long a wrapper whose job was ended may go on writing to its log.
const lastWords = 5 * time.Second

// below are the files of a folder, with their times.
func below(dir string) (list []string) {
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			list = append(list, fmt.Sprint(path, " of ", info.ModTime().Format("15:04:05.000")))
		}
		return nil
	})
	return list
}
