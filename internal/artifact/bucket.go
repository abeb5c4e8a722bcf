// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"errors"
	"io"
	"strings"

	"gocloud.dev/blob"
)

// bucket is a backend over a bucket that others cannot enter.
type bucket struct{ blob *blob.Bucket }

func prefix(session string) string { return directoryName + "/" + session + "/" }

func (b *bucket) list(ctx context.Context, session string) ([]object, error) {
	return b.listed(ctx, prefix(session))
}

// listed returns the objects whose keys begin with one of a session, all or some.
func (b *bucket) listed(ctx context.Context, begin string) ([]object, error) {
	var objects []object
	keys := b.blob.List(&blob.ListOptions{Prefix: begin})
	for {
		o, err := keys.Next(ctx)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, driverError(ctx, err)
		}
		name := o.Key[strings.LastIndexByte(o.Key, '/')+1:]
		if _, _, ok := parseName(name); !ok || strings.Count(o.Key, "/") != 2 {
			return nil, ErrUnsafe
		}
		if len(objects) == MaxArtifacts {
			return nil, ErrQuota
		}
		objects = append(objects, object{name: name, size: o.Size, modified: o.ModTime})
	}
}

func (b *bucket) find(ctx context.Context, session, id string) (object, error) {
	objects, err := b.listed(ctx, prefix(session)+id+".")
	if err != nil {
		return object{}, err
	}
	if len(objects) == 0 {
		return object{}, ErrNotFound
	}
	return objects[0], nil
}

func (b *bucket) read(ctx context.Context, session string, o object, w writer) error {
	r, err := b.blob.NewReader(ctx, prefix(session)+o.name, nil)
	if err != nil {
		return driverError(ctx, err)
	}
	return drain(ctx, r, o.size, w)
}

// drain copies at most size and one bytes of r: more than expected is wrong, however much it is.
func drain(ctx context.Context, r *blob.Reader, size int64, w io.Writer) error {
	_, err := io.Copy(w, io.LimitReader(r, size+1))
	return driverError(ctx, errors.Join(err, r.Close()))
}

func (b *bucket) write(ctx context.Context, session, name string, data []byte) error {
	_, mimeType, _ := parseName(name)
	// Not IfNotExist, which some stores do not know: what would be overwritten is the same.
	return driverError(ctx, b.blob.WriteAll(ctx, prefix(session)+name, data, &blob.WriterOptions{ContentType: mimeType}))
}

func (b *bucket) remove(ctx context.Context, session string) error {
	keys := b.blob.List(&blob.ListOptions{Prefix: prefix(session)})
	for {
		o, err := keys.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = b.blob.Delete(ctx, o.Key)
		}
		if err := driverError(ctx, err); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
}

func (b *bucket) close() error { return b.blob.Close() }
