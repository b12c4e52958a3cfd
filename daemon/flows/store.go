package flows

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"gbroker/grid"
	"gbroker/stage"
)

// askRoom is after how many bytes of a file it is asked again whether there is room.
const askRoom = 64 << 20

// bounded reads what is stored, until ctx is done or there is no room for more.
type bounded struct {
	ctx    context.Context
	from   io.Reader
	keeper *Keeper
	left   int64 // until the next question
}

func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if b.left <= 0 {
		if err := b.keeper.roomFor(0); err != nil {
			return 0, err
		}
		b.left = askRoom
	}
	n, err := b.from.Read(p)
	b.left -= int64(n)
	return n, err
}

// settle makes the names on the way to a file in the folder of a workflow durable. That of in is, once the state is written beside it.
func (k *Keeper) settle(folder, name string) error {
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		if err := k.config.Sync(filepath.Join(folder, dir)); err != nil {
			return err
		}
	}
	return nil
}

// store writes a file that should have so many bytes, and closes it; it is how many it has, and its contents.
func (k *Keeper) store(ctx context.Context, to *os.File, from io.Reader, size int64) (n int64, is string, err error) {
	sums, n, err := stage.Hash(io.TeeReader(&bounded{ctx: ctx, from: io.LimitReader(from, size+1), keeper: k}, to))
	if err == nil {
		err = to.Sync()
	}
	return n, contents(&grid.File{Size: n, Ranges: sums}), errors.Join(err, to.Close())
}
